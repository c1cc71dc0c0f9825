#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <utility>

#include "server/scheduling/clock.h"

namespace telltale::testing {

// Time that stands still until it is told to move. Thread-safe.
class ManualClock final : public server::Clock {
 public:
  Instant Now() override {
    const std::lock_guard lock(mutex_);
    return now_;
  }

  int64_t WallTimeNs() override { return 1'700'000'000'000'000'000; }

  void WaitUntil(std::condition_variable& condition,
                 std::unique_lock<std::mutex>& lock,
                 Instant /*deadline*/) override {
    {
      const std::lock_guard own(mutex_);
      waiting_.insert({&condition, lock.mutex()});
      ++waits_;
      changed_.notify_all();
    }
    condition.wait(lock);
    const std::lock_guard own(mutex_);
    waiting_.erase(waiting_.find({&condition, lock.mutex()}));
  }

  // Moves on and wakes those who wait.
  void Advance(std::chrono::microseconds step) {
    std::multiset<Waiter> waiting;
    {
      const std::lock_guard lock(mutex_);
      now_ += step;
      waiting = waiting_;
    }
    for (const auto& [condition, mutex] : waiting) {
      // Free only once its owner really waits.
      const std::lock_guard lock(*mutex);
      condition->notify_all();
    }
  }

  // Waits until WaitUntil has been called so often since the start.
  void AwaitWaits(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, count] { return waits_ >= count; });
  }

 private:
  using Waiter = std::pair<std::condition_variable*, std::mutex*>;

  std::mutex mutex_;
  std::condition_variable changed_;
  Instant now_{std::chrono::hours(1)};
  std::multiset<Waiter> waiting_;
  int waits_ = 0;
};

}  // namespace telltale::testing
