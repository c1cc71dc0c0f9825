#include "server/rpc/read_deadline.h"

#include <cstdint>
#include <memory>
#include <mutex>

#include <grpc/support/time.h>
#include <grpcpp/alarm.h>

namespace telltale::server {

struct ReadDeadline::Watch {
  std::mutex mutex;
  grpc::CallbackServerContext* context = nullptr;  // null: the call is over
  // Which start the clock runs for; an alarm of another comes too late.
  uint64_t current = 0;
  std::unique_ptr<grpc::Alarm> alarm;  // null: the clock does not run

  void CutOff(uint64_t started) {
    const std::lock_guard lock(mutex);
    if (context != nullptr && current == started) context->TryCancel();
  }

  // Needs the lock.
  void Replace(std::unique_ptr<grpc::Alarm> next) {
    ++current;
    alarm = std::move(next);  // cancels the one before
  }
};

ReadDeadline::ReadDeadline(grpc::CallbackServerContext* context,
                           std::chrono::milliseconds patience)
    : patience_(patience), watch_(std::make_shared<Watch>()) {
  watch_->context = context;
}

ReadDeadline::~ReadDeadline() { Forget(); }

void ReadDeadline::Start() {
  const std::lock_guard lock(watch_->mutex);
  if (watch_->context == nullptr) return;
  watch_->Replace(std::make_unique<grpc::Alarm>());
  watch_->alarm->Set(
      // Monotonic: setting the machine's clock cuts nobody off.
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                   gpr_time_from_millis(patience_.count(), GPR_TIMESPAN)),
      [watch = watch_, started = watch_->current](bool expired) {
        if (expired) watch->CutOff(started);
      });
}

void ReadDeadline::Stop() {
  const std::lock_guard lock(watch_->mutex);
  watch_->Replace(nullptr);
}

void ReadDeadline::Forget() {
  const std::lock_guard lock(watch_->mutex);
  watch_->context = nullptr;
  watch_->Replace(nullptr);
}

}  // namespace telltale::server
