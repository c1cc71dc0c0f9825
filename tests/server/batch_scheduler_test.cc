#include "server/scheduling/batch_scheduler.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"

namespace telltale::server {
namespace {

using std::chrono::microseconds;
using telltale::testing::ManualClock;
using ::testing::ElementsAre;

// Takes batches from the scheduler, notes the streams in them, and may be made
// to hold the worker.
class Recorder {
 public:
  void Take(BatchScheduler::Batch batch) {
    std::unique_lock lock(mutex_);
    std::vector<uint64_t> streams;
    for (const auto& task : batch) streams.push_back(task->stream);
    batches_.push_back(streams);
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    for (auto& task : batch) finished_.push_back(std::move(task));
  }

  void Hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }

  void Release() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }

  std::vector<std::vector<uint64_t>> AwaitBatches(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return batches_.size() >= count; });
    return batches_;
  }

  size_t batch_count() {
    const std::lock_guard lock(mutex_);
    return batches_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  std::vector<std::vector<uint64_t>> batches_;
  std::vector<std::unique_ptr<ScoreTask>> finished_;
};

class BatchSchedulerTest : public ::testing::Test {
 protected:
  void Start(const BatchScheduler::Options& options) {
    scheduler_ = std::make_unique<BatchScheduler>(
        options, clock_, [this](BatchScheduler::Batch batch) {
          recorder_.Take(std::move(batch));
        });
  }

  absl::Status Submit(uint64_t stream) {
    auto task = std::make_unique<ScoreTask>();
    task->stream = stream;
    absl::Status status = scheduler_->Submit(task);
    EXPECT_EQ(task == nullptr, status.ok());
    return status;
  }

  // Keeps the worker busy with a task of stream 99, so that others gather.
  void Occupy() {
    recorder_.Hold();
    ASSERT_TRUE(Submit(99).ok());
    recorder_.AwaitBatches(1);
  }

  ManualClock clock_;
  Recorder recorder_;
  std::unique_ptr<BatchScheduler> scheduler_;
};

TEST_F(BatchSchedulerTest, ScoresALoneWindowAtOnce) {
  Start({.max_delay = microseconds(1000)});

  ASSERT_TRUE(Submit(1).ok());

  EXPECT_THAT(recorder_.AwaitBatches(1), ElementsAre(ElementsAre(1)));
}

TEST_F(BatchSchedulerTest, ClosesABatchWhenTheOldestWindowHasWaitedMaxDelay) {
  Start({.max_delay = microseconds(1000)});
  Occupy();
  ASSERT_TRUE(Submit(1).ok());
  clock_.Advance(microseconds(400));
  ASSERT_TRUE(Submit(2).ok());
  recorder_.Release();
  clock_.AwaitWaits(1);

  clock_.Advance(microseconds(599));
  clock_.AwaitWaits(2);
  EXPECT_EQ(recorder_.batch_count(), 1U);
  clock_.Advance(microseconds(1));

  EXPECT_THAT(recorder_.AwaitBatches(2),
              ElementsAre(ElementsAre(99), ElementsAre(1, 2)));
}

TEST_F(BatchSchedulerTest, ClosesABatchWhenItIsFull) {
  Start({.max_batch_size = 3, .max_delay = microseconds(1'000'000)});
  Occupy();
  for (uint64_t stream = 1; stream <= 4; ++stream) {
    ASSERT_TRUE(Submit(stream).ok());
  }

  recorder_.Release();

  EXPECT_THAT(
      recorder_.AwaitBatches(3),
      ElementsAre(ElementsAre(99), ElementsAre(1, 2, 3), ElementsAre(4)));
}

TEST_F(BatchSchedulerTest, TakesOneWindowOfEachStreamAndKeepsTheirOrder) {
  Start({.max_batch_size = 8, .max_delay = microseconds(0)});
  Occupy();
  for (const uint64_t stream : {1, 1, 2, 1}) {
    ASSERT_TRUE(Submit(stream).ok());
  }

  recorder_.Release();

  EXPECT_THAT(recorder_.AwaitBatches(4),
              ElementsAre(ElementsAre(99), ElementsAre(1, 2), ElementsAre(1),
                          ElementsAre(1)));
}

TEST_F(BatchSchedulerTest, LeavesTheTaskWithTheCallerWhenFull) {
  Start({.max_queued = 2});
  Occupy();
  ASSERT_TRUE(Submit(1).ok());
  ASSERT_TRUE(Submit(1).ok());

  EXPECT_TRUE(absl::IsResourceExhausted(Submit(2)));

  EXPECT_EQ(scheduler_->queued(), 2);
  recorder_.Release();
  recorder_.AwaitBatches(3);
  EXPECT_TRUE(Submit(2).ok());
}

TEST_F(BatchSchedulerTest, FinishesWhatWasAcceptedBeforeItStops) {
  Start({.max_delay = microseconds(1'000'000)});
  Occupy();
  for (uint64_t stream = 1; stream <= 5; ++stream) {
    ASSERT_TRUE(Submit(stream).ok());
  }
  ASSERT_TRUE(Submit(5).ok());

  recorder_.Release();
  scheduler_.reset();

  size_t tasks = 0;
  for (const auto& batch : recorder_.AwaitBatches(0)) tasks += batch.size();
  EXPECT_EQ(tasks, 7U);
}

TEST_F(BatchSchedulerTest, NeverScoresTwoWindowsOfAStreamAtTheSameTime) {
  // Two workers, one of them held with stream 1: the other must not take the
  // next window of stream 1, but may take another stream's.
  Start({.workers = 2, .max_delay = microseconds(0)});
  recorder_.Hold();
  ASSERT_TRUE(Submit(1).ok());
  recorder_.AwaitBatches(1);
  ASSERT_TRUE(Submit(1).ok());
  ASSERT_TRUE(Submit(2).ok());

  EXPECT_THAT(recorder_.AwaitBatches(2),
              ElementsAre(ElementsAre(1), ElementsAre(2)));
  recorder_.Release();
  EXPECT_THAT(recorder_.AwaitBatches(3).back(), ElementsAre(1));
}

}  // namespace
}  // namespace telltale::server
