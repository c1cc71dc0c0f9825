#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"

#include "server/storage/score_store.h"
#include "server/storage/sqlite.h"

namespace telltale::server {

// Reads windows and scores through a read-only connection. Used by one thread.
// Every row's checksum is verified: kDataLoss names the row that fails.
class SqliteScoreReader {
 public:
  // The file must have been migrated.
  static absl::StatusOr<SqliteScoreReader> Open(
      const std::filesystem::path& path);

  absl::StatusOr<StreamTail> FindTail(const TailQuery& query);
  absl::StatusOr<WindowRecord> FindWindow(const StreamKey& key, int64_t epoch,
                                          int64_t sequence);
  absl::StatusOr<ScorePage> FindScores(const ScoreQuery& query);

 private:
  // Where a tail ends.
  struct WindowPlace {
    int64_t epoch = 0;
    int64_t sequence = 0;
  };

  SqliteScoreReader() = default;

  absl::Status Prepare();
  absl::StatusOr<int64_t> StreamId(const StreamKey& key);
  absl::StatusOr<WindowPlace> FindLastWindow(const TailQuery& query,
                                             int64_t stream_id);
  // Reads the current row of a statement that selects kWindowColumns.
  absl::StatusOr<WindowRecord> ReadWindow(const SqliteStatement& row,
                                          const StreamKey& key);
  absl::Status ReadInstants(int64_t stream_id, WindowRecord& record);
  absl::StatusOr<StoredScore> ReadScore(const SqliteStatement& row,
                                        const StreamKey& key);
  absl::StatusOr<ScorePage> ReadPage(SqliteStatement& rows,
                                     const ScoreQuery& query);
  absl::StatusOr<std::shared_ptr<const ModelLabel>> Model(int64_t model_id);

  SqliteConnection connection_;
  SqliteStatement find_stream_;
  SqliteStatement find_model_;
  SqliteStatement last_window_;
  SqliteStatement last_window_of_epoch_;
  SqliteStatement window_of_instant_;
  SqliteStatement windows_backwards_;
  SqliteStatement instants_of_window_;
  SqliteStatement scores_;
  SqliteStatement anomalies_;
  // Shared with the records that are handed out. Rows of `models` never change.
  // Bounded: cleared when it reaches kMaxModels.
  std::map<int64_t, std::shared_ptr<const ModelLabel>> models_;
};

}  // namespace telltale::server
