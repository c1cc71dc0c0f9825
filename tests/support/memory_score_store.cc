#include "tests/support/memory_score_store.h"

#include <algorithm>
#include <string>

namespace telltale::testing {

using server::ScorePage;
using server::ScoreQuery;
using server::StreamKey;
using server::StreamTail;
using server::TailQuery;
using server::WindowRecord;

void MemoryScoreStore::Hold() {
  const std::lock_guard lock(mutex_);
  holding_ = true;
}

void MemoryScoreStore::Release() {
  std::vector<std::pair<Callback<absl::Status>, absl::Status>> answers;
  {
    // All at once, so that no later window can come between.
    const std::lock_guard lock(mutex_);
    holding_ = false;
    for (auto& [record, done] : held_) {
      answers.emplace_back(std::move(done), AppendLocked(record));
    }
    held_.clear();
  }
  for (const auto& [done, status] : answers) done(status);
}

void MemoryScoreStore::FailAppends(int count, absl::Status status) {
  const std::lock_guard lock(mutex_);
  failures_ = count;
  failure_ = std::move(status);
}

int MemoryScoreStore::appended() const {
  const std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const auto& [key, windows] : streams_) count += windows.size();
  return static_cast<int>(count);
}

void MemoryScoreStore::Append(WindowRecord record,
                              Callback<absl::Status> done) {
  absl::Status status;
  {
    const std::lock_guard lock(mutex_);
    if (holding_) {
      held_.emplace_back(std::move(record), std::move(done));
      return;
    }
    status = AppendLocked(record);
  }
  done(status);
}

absl::Status MemoryScoreStore::AppendLocked(const WindowRecord& record) {
  if (failures_ > 0) {
    --failures_;
    return failure_;
  }
  Windows& windows = streams_[record.key];
  const Place place{record.epoch, record.sequence};
  if (record.sequence > 1 &&
      !windows.contains({record.epoch, record.sequence - 1})) {
    return absl::FailedPreconditionError("a gap");
  }
  const auto [at, is_new] = windows.try_emplace(place, record);
  if (is_new || at->second.payload_hash == record.payload_hash) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError("other content");
}

void MemoryScoreStore::FindTail(TailQuery query,
                                Callback<absl::StatusOr<StreamTail>> done) {
  absl::StatusOr<StreamTail> result = absl::NotFoundError("nothing stored");
  {
    const std::lock_guard lock(mutex_);
    const Windows& windows = streams_[query.key];
    if (!windows.empty()) {
      StreamTail tail;
      const WindowRecord& last = windows.rbegin()->second;
      tail.epoch = last.epoch;
      tail.last_sequence = last.sequence;
      tail.instant_count = last.first_instant + last.added_instants;
      int64_t covered = 0;
      for (auto at = windows.rbegin(); at != windows.rend(); ++at) {
        const WindowRecord& window = at->second;
        if (window.epoch != tail.epoch || covered >= query.instants) break;
        covered += window.added_instants;
        tail.windows.push_back(window);
      }
      std::reverse(tail.windows.begin(), tail.windows.end());
      result = std::move(tail);
    }
  }
  done(std::move(result));
}

void MemoryScoreStore::FindWindow(StreamKey key, int64_t epoch,
                                  int64_t sequence,
                                  Callback<absl::StatusOr<WindowRecord>> done) {
  absl::StatusOr<WindowRecord> result = absl::NotFoundError("not stored");
  {
    const std::lock_guard lock(mutex_);
    const Windows& windows = streams_[key];
    if (const auto at = windows.find({epoch, sequence}); at != windows.end()) {
      result = at->second;
    }
  }
  done(std::move(result));
}

void MemoryScoreStore::FindScores(ScoreQuery /*query*/,
                                  Callback<absl::StatusOr<ScorePage>> done) {
  done(absl::UnimplementedError("sessions list nothing"));
}

}  // namespace telltale::testing
