#include "server/scheduling/batch_scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

namespace telltale::server {

BatchScheduler::BatchScheduler(const Options& options, Clock& clock,
                               std::function<void(Batch)> score)
    : options_(options), clock_(clock), score_(std::move(score)) {
  for (int i = 0; i < std::max(1, options_.workers); ++i) {
    workers_.emplace_back([this] { Run(); });
  }
}

BatchScheduler::~BatchScheduler() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

uint64_t BatchScheduler::NewStream() {
  const std::lock_guard lock(mutex_);
  return next_stream_++;
}

int BatchScheduler::queued() const {
  const std::lock_guard lock(mutex_);
  return queued_;
}

absl::Status BatchScheduler::Submit(std::unique_ptr<ScoreTask>& task) {
  {
    const std::lock_guard lock(mutex_);
    if (queued_ >= options_.max_queued) {
      return absl::ResourceExhaustedError(absl::StrFormat(
          "%d windows wait to be scored already", options_.max_queued));
    }
    ++queued_;
    const uint64_t number = task->stream;
    Stream& stream = streams_[number];
    stream.waiting.push_back({std::move(task), clock_.Now()});
    if (!stream.running && stream.waiting.size() == 1) ready_.push_back(number);
  }
  // All: a worker that waits for a fuller batch has to look again, and one that
  // does not would otherwise miss this.
  changed_.notify_all();
  return absl::OkStatus();
}

void BatchScheduler::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    Batch batch = NextBatch(lock);
    if (batch.empty()) return;
    std::vector<uint64_t> streams;
    streams.reserve(batch.size());
    for (const auto& task : batch) streams.push_back(task->stream);
    lock.unlock();
    score_(std::move(batch));
    lock.lock();
    FinishBatch(streams);
  }
}

BatchScheduler::Batch BatchScheduler::NextBatch(
    std::unique_lock<std::mutex>& lock) {
  while (true) {
    if (ready_.empty()) {
      if (stopping_ && queued_ == 0) return {};
      changed_.wait(lock);
      continue;
    }
    const int waiting = static_cast<int>(ready_.size());
    if (stopping_ || waiting == 1 || waiting >= options_.max_batch_size) {
      return TakeBatch();
    }
    const Clock::Instant closes =
        streams_.at(ready_.front()).waiting.front().since + options_.max_delay;
    if (clock_.Now() >= closes) return TakeBatch();
    clock_.WaitUntil(changed_, lock, closes);
  }
}

BatchScheduler::Batch BatchScheduler::TakeBatch() {
  const size_t size =
      std::min(ready_.size(), static_cast<size_t>(options_.max_batch_size));
  Batch batch;
  batch.reserve(size);
  while (batch.size() < size) {
    Stream& stream = streams_.at(ready_.front());
    ready_.pop_front();
    batch.push_back(std::move(stream.waiting.front().task));
    stream.waiting.pop_front();
    stream.running = true;
    --queued_;
  }
  return batch;
}

void BatchScheduler::FinishBatch(const std::vector<uint64_t>& streams) {
  for (const uint64_t number : streams) {
    const auto found = streams_.find(number);
    found->second.running = false;
    if (found->second.waiting.empty()) {
      streams_.erase(found);
    } else {
      ready_.push_back(number);
    }
  }
  changed_.notify_all();
}

}  // namespace telltale::server
