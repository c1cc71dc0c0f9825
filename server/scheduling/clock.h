#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace telltale::server {

// Time, so that tests can hold it still. Thread-safe.
class Clock {
 public:
  // Monotonic: setting the machine's clock changes nothing.
  using Instant = std::chrono::steady_clock::time_point;

  virtual ~Clock() = default;

  virtual Instant Now() = 0;
  // Nanoseconds since 1970-01-01T00:00:00 UTC, for stamps that people read.
  virtual int64_t WallTimeNs() = 0;
  // Waits until notified or `deadline`, or less; the caller checks again.
  // `lock` is released meanwhile.
  virtual void WaitUntil(std::condition_variable& condition,
                         std::unique_lock<std::mutex>& lock,
                         Instant deadline) = 0;
};

// The machine's.
class SystemClock final : public Clock {
 public:
  Instant Now() override { return std::chrono::steady_clock::now(); }

  int64_t WallTimeNs() override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

  void WaitUntil(std::condition_variable& condition,
                 std::unique_lock<std::mutex>& lock,
                 Instant deadline) override {
    condition.wait_until(lock, deadline);
  }
};

}  // namespace telltale::server
