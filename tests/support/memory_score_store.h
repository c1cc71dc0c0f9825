#pragma once

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "server/storage/score_store.h"

namespace telltale::testing {

// A second backend: keeps everything in memory and answers at once, or when it
// is told to. Thread-safe.
class MemoryScoreStore final : public server::ScoreStore {
 public:
  // From now on Append waits for Release.
  void Hold();
  void Release();
  // The next so many appends are refused.
  void FailAppends(int count, absl::Status status);
  int appended() const;

  void Append(server::WindowRecord record,
              Callback<absl::Status> done) override;
  void FindTail(server::TailQuery query,
                Callback<absl::StatusOr<server::StreamTail>> done) override;
  void FindWindow(server::StreamKey key, int64_t epoch, int64_t sequence,
                  Callback<absl::StatusOr<server::WindowRecord>> done) override;
  void FindScores(server::ScoreQuery query,
                  Callback<absl::StatusOr<server::ScorePage>> done) override;

 private:
  using Place = std::pair<int64_t, int64_t>;  // epoch, sequence
  using Windows = std::map<Place, server::WindowRecord>;
  using Held =
      std::vector<std::pair<server::WindowRecord, Callback<absl::Status>>>;

  absl::Status AppendLocked(const server::WindowRecord& record);

  mutable std::mutex mutex_;
  std::map<server::StreamKey, Windows> streams_;
  bool holding_ = false;
  Held held_;
  int failures_ = 0;
  absl::Status failure_;
};

}  // namespace telltale::testing
