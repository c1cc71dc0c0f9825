#include "server/storage/score_schema.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/strings/str_format.h"

namespace telltale::server {
namespace {

// Step v leads from version v to v + 1. Steps that have been released are
// never changed; a new version is a new step at the end.
constexpr std::array kSteps = {
    // streams and models: what would otherwise stand in every row.
    // windows: what clients sent, and how to go on after it.
    // instants: one row a verdict, clustered by time within its stream, so that
    // a range of time is a range of pages.
    R"sql(
CREATE TABLE streams(
  stream_id INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  mode INTEGER NOT NULL,
  UNIQUE(tenant, name, mode));
CREATE TABLE models(
  model_id INTEGER PRIMARY KEY,
  version TEXT NOT NULL,
  name TEXT NOT NULL,
  channels BLOB NOT NULL,
  UNIQUE(version, name));
CREATE TABLE windows(
  window_id INTEGER PRIMARY KEY,
  stream_id INTEGER NOT NULL REFERENCES streams,
  epoch INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  payload_hash BLOB NOT NULL,
  model_id INTEGER NOT NULL REFERENCES models,
  threshold REAL NOT NULL,
  stored_ns INTEGER NOT NULL,
  first_instant INTEGER NOT NULL,
  added_instants INTEGER NOT NULL,
  first_time_ns INTEGER NOT NULL,
  last_time_ns INTEGER NOT NULL,
  time_ns BLOB NOT NULL,
  samples BLOB NOT NULL,
  crc INTEGER NOT NULL,
  UNIQUE(stream_id, epoch, sequence));
CREATE TABLE instants(
  stream_id INTEGER NOT NULL REFERENCES streams,
  time_ns INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  state INTEGER NOT NULL,
  score REAL NOT NULL,
  probability REAL NOT NULL,
  anomaly INTEGER NOT NULL,
  severity INTEGER NOT NULL,
  missing INTEGER NOT NULL,
  evidence BLOB NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY(stream_id, time_ns, epoch, sequence)) WITHOUT ROWID;
)sql",
    // Reception times, empty where none were sent. Anomalies are few and asked
    // for often.
    R"sql(
ALTER TABLE windows ADD COLUMN reception_time_ns BLOB NOT NULL DEFAULT x'';
CREATE INDEX anomalies ON instants(stream_id, time_ns, epoch, sequence)
  WHERE anomaly = 1;
)sql",
};

// Whether the tables are ours, or there are none where none are expected.
absl::StatusOr<bool> IsStore(SqliteConnection& connection, int64_t version) {
  if (version == 0) {
    const absl::StatusOr<int64_t> others =
        connection.QueryInt64("SELECT count(*) FROM sqlite_master");
    if (!others.ok()) return others.status();
    return *others == 0;
  }
  const absl::StatusOr<int64_t> ours = connection.QueryInt64(
      "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND "
      "name IN ('streams', 'models', 'windows', 'instants')");
  if (!ours.ok()) return ours.status();
  return *ours == 4;
}

}  // namespace

int ScoreSchemaVersion() { return static_cast<int>(kSteps.size()); }

absl::Status MigrateScoreSchema(SqliteConnection& connection,
                                const std::filesystem::path& path) {
  const absl::StatusOr<int64_t> found =
      connection.QueryInt64("PRAGMA user_version");
  if (!found.ok()) return found.status();
  if (*found < 0 || *found > ScoreSchemaVersion()) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s: the store has version %d; this program knows versions up to %d: "
        "use the program that wrote it, or another file",
        path.string(), *found, ScoreSchemaVersion()));
  }
  const absl::StatusOr<bool> is_store = IsStore(connection, *found);
  if (!is_store.ok()) return is_store.status();
  if (!*is_store) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s: the file is a database of another program; give the path of a "
        "store, or of a file that is not there yet",
        path.string()));
  }
  for (int64_t version = *found; version < ScoreSchemaVersion(); ++version) {
    const std::string sql =
        absl::StrFormat("BEGIN IMMEDIATE;%sPRAGMA user_version=%d;COMMIT;",
                        kSteps.at(version), version + 1);
    if (absl::Status status = connection.Execute(sql.c_str()); !status.ok()) {
      connection.Execute("ROLLBACK").IgnoreError();
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace telltale::server
