#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/storage/score_store.h"
#include "server/storage/sqlite.h"

namespace telltale::server {

// Writes windows and their scores through one connection: the only one that
// ever writes or checkpoints the file, because SQLite 3.40 may damage it when
// two connections do so at once. Used by one thread.
class SqliteScoreWriter {
 public:
  // Opens or creates the file and migrates it.
  static absl::StatusOr<SqliteScoreWriter> Open(
      const std::filesystem::path& path);

  // Stores the records in one transaction. Returns, when that became durable,
  // what became of each record (as ScoreStore::Append tells it), and otherwise
  // why nothing was stored.
  absl::StatusOr<std::vector<absl::Status>> Write(
      const std::vector<const WindowRecord*>& records);

  // Whether anything can be written: writes a page that changes nothing.
  // kResourceExhausted: there is no room for what windows need.
  absl::Status Probe();

  // Empties the write-ahead log when readers have let it grow beyond 32 MiB.
  // Call when idle. (Below that, commits checkpoint by themselves.)
  void ShortenLog();

 private:
  SqliteScoreWriter() = default;

  absl::Status Prepare();
  // What became of the record; `fatal` when it ends the transaction.
  absl::Status WriteRecord(const WindowRecord& record, bool& fatal);
  absl::Status CheckPredecessor(const WindowRecord& record, int64_t stream_id);
  absl::Status InsertInstants(const WindowRecord& record, int64_t stream_id);
  absl::Status CompareStored(const WindowRecord& record, int64_t stream_id);
  absl::StatusOr<int64_t> StreamId(const StreamKey& key);
  absl::StatusOr<int64_t> ModelId(const ModelLabel& model);

  std::filesystem::path path_;
  std::filesystem::path log_path_;
  SqliteConnection connection_;
  SqliteStatement begin_;
  SqliteStatement commit_;
  SqliteStatement insert_stream_;
  SqliteStatement find_stream_;
  SqliteStatement insert_model_;
  SqliteStatement find_model_;
  SqliteStatement insert_window_;
  SqliteStatement find_window_;
  SqliteStatement find_hash_;
  SqliteStatement insert_instant_;
};

}  // namespace telltale::server
