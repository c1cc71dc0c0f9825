#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"

#include "server/scheduling/clock.h"
#include "server/scheduling/score_task.h"

namespace telltale::server {

// Groups windows arriving on many streams into batches for the detector.
//
// An idle worker takes a window at once when it is the only one that waits.
// When several wait, the batch closes when it holds `max_batch_size` windows or
// when the oldest has waited `max_delay`, whichever comes first. Streams take
// turns: a batch holds at most one window of each, and the windows of one
// stream are scored one after the other, in order, by whichever worker.
//
// The queue is bounded: Submit refuses with kResourceExhausted rather than let
// latency grow without limit. Thread-safe.
class BatchScheduler {
 public:
  using Batch = std::vector<std::unique_ptr<ScoreTask>>;

  struct Options {
    int workers = 1;
    int max_batch_size = 32;
    std::chrono::microseconds max_delay{500};
    int max_queued = 1024;  // waiting, over all streams
  };

  // Calls `score` on the workers' threads. It must leave no task undone.
  // `clock` must outlive the scheduler.
  BatchScheduler(const Options& options, Clock& clock,
                 std::function<void(Batch)> score);

  // Finishes every accepted task, then stops.
  ~BatchScheduler();

  BatchScheduler(const BatchScheduler&) = delete;
  BatchScheduler& operator=(const BatchScheduler&) = delete;

  // A number for the tasks of a new stream.
  uint64_t NewStream();

  // Takes ownership of `task` only when it returns OK.
  absl::Status Submit(std::unique_ptr<ScoreTask>& task);

  // How many tasks wait.
  int queued() const;

 private:
  struct Waiting {
    std::unique_ptr<ScoreTask> task;
    Clock::Instant since;
  };
  // A stream with tasks waiting or running; gone when it has neither.
  struct Stream {
    std::deque<Waiting> waiting;
    bool running = false;
  };

  void Run();
  // Waits for the next batch. Empty: stopping, and nothing is left.
  Batch NextBatch(std::unique_lock<std::mutex>& lock);
  Batch TakeBatch();
  void FinishBatch(const std::vector<uint64_t>& streams);

  const Options options_;
  Clock& clock_;
  const std::function<void(Batch)> score_;

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::unordered_map<uint64_t, Stream> streams_;
  std::deque<uint64_t> ready_;  // streams with a task that may run, in turn
  int queued_ = 0;
  uint64_t next_stream_ = 1;
  bool stopping_ = false;

  std::vector<std::thread> workers_;  // last: joined before what they use goes
};

}  // namespace telltale::server
