#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <grpcpp/grpcpp.h>

#include "proto/telltale/v1/anomaly_detection_service.grpc.pb.h"

namespace telltale::server {

// A channel to a server, as every command makes it.
std::shared_ptr<grpc::Channel> ConnectTo(const std::string& server);

// The error of a call as a person should read it, naming the server when it
// cannot be reached.
absl::Status DescribeFailure(const std::string& server,
                             const grpc::Status& status);

// Streams windows to a server and brings back their scores, in order and each
// once, over lost connections and refusals: windows without an answer are sent
// again, and the server answers those that it had stored already.
//
// Replies are read on a thread of their own, so that neither side can wait for
// the other for ever. Used by one thread.
class ScoringClient {
 public:
  struct Options {
    std::string server;  // host:port
    ::telltale::v1::OpenStream open;
    int max_in_flight = 4;  // windows without an answer
    // How long to go on trying to reach the server, or a stream that somebody
    // else has open.
    std::chrono::milliseconds patience{10'000};
  };
  using OnScored = std::function<void(const ::telltale::v1::WindowScored&)>;

  // Calls `on_scored` from within Send and Finish.
  ScoringClient(Options options, OnScored on_scored);
  ~ScoringClient();

  ScoringClient(const ScoringClient&) = delete;
  ScoringClient& operator=(const ScoringClient&) = delete;

  // Sends the next window; its sequence number is one more than that of the
  // last, beginning with 1. Waits while too many are unanswered. An error is
  // final: the server is out of reach for longer than `patience`, or has
  // refused the stream or a window for good.
  absl::Status Send(::telltale::v1::Window window);

  // Waits until `deadline`, handling replies.
  absl::Status WaitUntil(std::chrono::steady_clock::time_point deadline);

  // Waits for all answers and ends the stream.
  absl::Status Finish();

  // What the server said when it opened the stream; before that, empty.
  const ::telltale::v1::StreamOpened& opened() const { return opened_; }

 private:
  using Response = ::telltale::v1::StreamWindowsResponse;
  using Stream =
      grpc::ClientReaderWriter<::telltale::v1::StreamWindowsRequest, Response>;
  using TimePoint = std::chrono::steady_clock::time_point;

  // One connection: its call, and the replies that its thread has read.
  struct Call;

  absl::Status Connect();
  absl::Status Reconnect(const absl::Status& reason);
  void Disconnect();
  absl::Status WriteWaiting();
  // Handles one reply, waiting for it until `deadline` (none: for ever). False:
  // the deadline came first.
  absl::StatusOr<bool> HandleNext(std::optional<TimePoint> deadline);
  absl::Status Handle(const Response& response);
  absl::Status HandleRejected(const ::telltale::v1::WindowRejected& rejected);

  const Options options_;
  const OnScored on_scored_;
  std::unique_ptr<::telltale::v1::AnomalyDetectionService::Stub> stub_;
  std::unique_ptr<Call> call_;
  ::telltale::v1::StreamOpened opened_;
  bool is_open_ = false;  // this call's stream
  std::optional<TimePoint> trying_since_;
  // Windows without an answer, by rising sequence; the first `sent_` of them
  // have been sent over this call and `awaited_` replies to them are to come.
  std::deque<::telltale::v1::StreamWindow> unanswered_;
  size_t sent_ = 0;
  size_t awaited_ = 0;
  std::optional<TimePoint> resend_at_;  // after a refusal for now
  int64_t next_sequence_ = 1;
};

}  // namespace telltale::server
