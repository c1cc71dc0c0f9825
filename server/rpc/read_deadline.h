#pragma once

#include <chrono>
#include <memory>

#include <grpcpp/server_context.h>

namespace telltale::server {

// Cuts off a call whose client leaves unread what takes much memory: the call
// ends with CANCELLED, since a status would queue up behind what is not read.
// Thread-safe.
class ReadDeadline {
 public:
  // `context` is the call's; it is touched until Forget.
  ReadDeadline(grpc::CallbackServerContext* context,
               std::chrono::milliseconds patience);
  ~ReadDeadline();

  ReadDeadline(const ReadDeadline&) = delete;
  ReadDeadline& operator=(const ReadDeadline&) = delete;

  // The client has `patience` from now on; or again, when it had before.
  void Start();
  // It has read everything in time.
  void Stop();
  // The call is over, and `context` is about to go.
  void Forget();

 private:
  struct Watch;

  const std::chrono::milliseconds patience_;
  const std::shared_ptr<Watch> watch_;  // shared with the alarm's callback
};

}  // namespace telltale::server
