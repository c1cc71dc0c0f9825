#include "server/storage/sqlite_score_writer.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"

#include "server/storage/record_codec.h"
#include "server/storage/score_schema.h"

namespace telltale::server {
namespace {

constexpr uintmax_t kLogBytesToShorten = 32 << 20;
// Room for a commit of large windows.
constexpr uintmax_t kFreeBytesToWrite = 4 << 20;

std::string_view HashBytes(const PayloadHash& hash) {
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

}  // namespace

absl::StatusOr<SqliteScoreWriter> SqliteScoreWriter::Open(
    const std::filesystem::path& path) {
  absl::StatusOr<SqliteConnection> connection =
      SqliteConnection::OpenWriter(path);
  if (!connection.ok()) return connection.status();
  SqliteScoreWriter writer;
  writer.connection_ = std::move(*connection);
  writer.path_ = path;
  writer.log_path_ = path.string() + "-wal";
  if (absl::Status status = MigrateScoreSchema(writer.connection_, path);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = writer.Prepare(); !status.ok()) return status;
  return writer;
}

absl::Status SqliteScoreWriter::Prepare() {
  struct Entry {
    SqliteStatement& statement;
    const char* sql;
  };
  const Entry entries[] = {
      {begin_, "BEGIN IMMEDIATE"},
      {commit_, "COMMIT"},
      {insert_stream_,
       "INSERT INTO streams(tenant, name, mode) VALUES(?1, ?2, ?3) "
       "ON CONFLICT DO NOTHING"},
      {find_stream_,
       "SELECT stream_id FROM streams "
       "WHERE tenant = ?1 AND name = ?2 AND mode = ?3"},
      {insert_model_,
       "INSERT INTO models(version, name, channels) VALUES(?1, ?2, ?3) "
       "ON CONFLICT DO NOTHING"},
      {find_model_,
       "SELECT model_id FROM models WHERE version = ?1 AND name = ?2"},
      {insert_window_,
       "INSERT INTO windows(stream_id, epoch, sequence, payload_hash, "
       "model_id, threshold, stored_ns, first_instant, added_instants, "
       "first_time_ns, last_time_ns, time_ns, samples, reception_time_ns, crc) "
       "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
       "?15) ON CONFLICT DO NOTHING"},
      {find_window_,
       "SELECT 1 FROM windows "
       "WHERE stream_id = ?1 AND epoch = ?2 AND sequence = ?3"},
      {find_hash_,
       "SELECT payload_hash FROM windows "
       "WHERE stream_id = ?1 AND epoch = ?2 AND sequence = ?3"},
      {insert_instant_,
       "INSERT INTO instants(stream_id, time_ns, epoch, sequence, state, "
       "score, probability, anomaly, severity, missing, evidence, crc) "
       "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"},
  };
  for (const Entry& entry : entries) {
    absl::StatusOr<SqliteStatement> statement = connection_.Prepare(entry.sql);
    if (!statement.ok()) return statement.status();
    entry.statement = std::move(*statement);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<absl::Status>> SqliteScoreWriter::Write(
    const std::vector<const WindowRecord*>& records) {
  if (absl::Status status = begin_.Run(); !status.ok()) return status;
  std::vector<absl::Status> outcomes;
  outcomes.reserve(records.size());
  for (const WindowRecord* record : records) {
    bool fatal = false;
    outcomes.push_back(WriteRecord(*record, fatal));
    if (fatal) {
      connection_.Execute("ROLLBACK").IgnoreError();
      return outcomes.back();
    }
  }
  if (absl::Status status = commit_.Run(); !status.ok()) {
    connection_.Execute("ROLLBACK").IgnoreError();
    return status;
  }
  return outcomes;
}

absl::Status SqliteScoreWriter::WriteRecord(const WindowRecord& record,
                                            bool& fatal) {
  fatal = true;
  const absl::StatusOr<int64_t> stream_id = StreamId(record.key);
  if (!stream_id.ok()) return stream_id.status();
  const absl::StatusOr<int64_t> model_id = ModelId(*record.model);
  if (!model_id.ok()) return model_id.status();
  if (absl::Status status = CheckPredecessor(record, *stream_id);
      !status.ok()) {
    fatal = !absl::IsFailedPrecondition(status);
    return status;
  }

  insert_window_.Bind(1, *stream_id)
      .Bind(2, record.epoch)
      .Bind(3, record.sequence)
      .BindBlob(4, HashBytes(record.payload_hash))
      .Bind(5, *model_id)
      .Bind(6, double{record.threshold})
      .Bind(7, record.stored_ns)
      .Bind(8, record.first_instant)
      .Bind(9, int64_t{record.added_instants})
      .Bind(10, record.time_ns.front())
      .Bind(11, record.time_ns.back())
      .BindBlob(12, BytesOf(record.time_ns))
      .BindBlob(13, BytesOf(record.samples))
      .BindBlob(14, BytesOf(record.reception_time_ns))
      .Bind(15, int64_t{WindowCrc(record)});
  absl::Status status = insert_window_.Run();
  if (!status.ok()) return status;
  if (sqlite3_changes(connection_.get()) == 0) {
    status = CompareStored(record, *stream_id);
    fatal = !status.ok() && !absl::IsAlreadyExists(status);
    return status;
  }
  status = InsertInstants(record, *stream_id);
  fatal = !status.ok();
  return status;
}

absl::Status SqliteScoreWriter::CheckPredecessor(const WindowRecord& record,
                                                 int64_t stream_id) {
  if (record.sequence == 1) return absl::OkStatus();
  find_window_.Bind(1, stream_id)
      .Bind(2, record.epoch)
      .Bind(3, record.sequence - 1);
  const StatementReset reset(find_window_);
  const absl::StatusOr<bool> row = find_window_.Step();
  if (!row.ok()) return row.status();
  if (*row) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "window %d of stream '%s', epoch %d, cannot be stored: window %d is not",
      record.sequence, record.key.stream, record.epoch, record.sequence - 1));
}

absl::Status SqliteScoreWriter::InsertInstants(const WindowRecord& record,
                                               int64_t stream_id) {
  for (const model::InstantScore& instant : record.instants) {
    const std::string evidence = EncodeEvidence(instant);
    insert_instant_.Bind(1, stream_id)
        .Bind(2, instant.time_ns)
        .Bind(3, record.epoch)
        .Bind(4, record.sequence)
        .Bind(5, static_cast<int64_t>(instant.state))
        .Bind(6, double{instant.score})
        .Bind(7, double{instant.probability})
        .Bind(8, int64_t{instant.anomaly})
        .Bind(9, static_cast<int64_t>(instant.severity))
        .Bind(10, int64_t{instant.missing})
        .BindBlob(11, evidence)
        .Bind(12, int64_t{InstantCrc(record.key, record.epoch, record.sequence,
                                     instant, evidence)});
    if (absl::Status status = insert_instant_.Run(); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status SqliteScoreWriter::CompareStored(const WindowRecord& record,
                                              int64_t stream_id) {
  find_hash_.Bind(1, stream_id).Bind(2, record.epoch).Bind(3, record.sequence);
  const StatementReset reset(find_hash_);
  const absl::StatusOr<bool> row = find_hash_.Step();
  if (!row.ok()) return row.status();
  if (*row && find_hash_.Blob(0) == HashBytes(record.payload_hash)) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(absl::StrFormat(
      "sequence %d of stream '%s', epoch %d, is stored with other content",
      record.sequence, record.key.stream, record.epoch));
}

absl::StatusOr<int64_t> SqliteScoreWriter::StreamId(const StreamKey& key) {
  for (const bool insert : {false, true}) {
    if (insert) {
      insert_stream_.BindText(1, key.tenant)
          .BindText(2, key.stream)
          .Bind(3, static_cast<int64_t>(key.mode));
      if (absl::Status status = insert_stream_.Run(); !status.ok()) {
        return status;
      }
    }
    find_stream_.BindText(1, key.tenant)
        .BindText(2, key.stream)
        .Bind(3, static_cast<int64_t>(key.mode));
    const StatementReset reset(find_stream_);
    const absl::StatusOr<bool> row = find_stream_.Step();
    if (!row.ok()) return row.status();
    if (*row) return find_stream_.Int64(0);
  }
  return absl::InternalError("a stream was inserted and is not there");
}

absl::StatusOr<int64_t> SqliteScoreWriter::ModelId(const ModelLabel& model) {
  for (const bool insert : {false, true}) {
    if (insert) {
      const std::string channels = EncodeChannels(model.channels);
      insert_model_.BindText(1, model.version)
          .BindText(2, model.name)
          .BindBlob(3, channels);
      if (absl::Status status = insert_model_.Run(); !status.ok()) {
        return status;
      }
    }
    find_model_.BindText(1, model.version).BindText(2, model.name);
    const StatementReset reset(find_model_);
    const absl::StatusOr<bool> row = find_model_.Step();
    if (!row.ok()) return row.status();
    if (*row) return find_model_.Int64(0);
  }
  return absl::InternalError("a model was inserted and is not there");
}

absl::Status SqliteScoreWriter::Probe() {
  // A page may find a place in the log that a window does not.
  std::error_code error;
  const auto space = std::filesystem::space(path_, error);
  if (!error && space.available < kFreeBytesToWrite) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "%s: the disk is full; make room on it", path_.string()));
  }
  const std::string rewrite =
      absl::StrFormat("PRAGMA user_version=%d", ScoreSchemaVersion());
  return connection_.Execute(rewrite.c_str());
}

void SqliteScoreWriter::ShortenLog() {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(log_path_, error);
  if (error || bytes < kLogBytesToShorten) return;
  // A reader may be in the way: do not wait for it, the next idle moment will
  // do.
  sqlite3_busy_timeout(connection_.get(), 0);
  sqlite3_wal_checkpoint_v2(connection_.get(), nullptr,
                            SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
}

}  // namespace telltale::server
