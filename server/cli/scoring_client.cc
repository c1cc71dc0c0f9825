#include "server/cli/scoring_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

#include "server/rpc/error_details.h"

namespace telltale::server {
namespace {

namespace v1 = ::telltale::v1;

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPauseBetweenAttempts{200};

absl::Status AbslStatus(int code, const std::string& message) {
  return {static_cast<absl::StatusCode>(code), message};
}

milliseconds DelayOf(const v1::WindowRejected& rejected) {
  return milliseconds(rejected.retry_delay().seconds() * 1000 +
                      rejected.retry_delay().nanos() / 1'000'000);
}

}  // namespace

std::shared_ptr<grpc::Channel> ConnectTo(const std::string& server) {
  grpc::ChannelArguments arguments;
  arguments.SetInt("grpc.keepalive_time_ms", 20'000);
  arguments.SetInt("grpc.keepalive_timeout_ms", 10'000);
  arguments.SetInt("grpc.initial_reconnect_backoff_ms", 100);
  arguments.SetInt("grpc.max_reconnect_backoff_ms", 1000);
  // A connection of its own, so that one command's troubles stay its own.
  arguments.SetInt("grpc.use_local_subchannel_pool", 1);
  return grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(),
                                   arguments);
}

absl::Status DescribeFailure(const std::string& server,
                             const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE &&
      status.error_details().empty()) {
    return absl::UnavailableError(absl::StrFormat(
        "cannot reach %s (%s); is `telltale serve` running there?", server,
        status.error_message()));
  }
  return AbslStatus(status.error_code(),
                    absl::StrFormat("%s: %s", server, DescribeError(status)));
}

// The reading thread fills `replies` until the server ends the call. It holds
// no more than is in flight, since the server answers what was sent.
struct ScoringClient::Call {
  grpc::ClientContext context;
  std::unique_ptr<Stream> stream;

  std::mutex mutex;  // guards the two below
  std::condition_variable changed;
  std::deque<Response> replies;
  bool ended = false;

  std::thread reader;

  void ReadAll() {
    Response response;
    while (stream->Read(&response)) {
      const std::lock_guard lock(mutex);
      replies.push_back(std::move(response));
      changed.notify_one();
    }
    const std::lock_guard lock(mutex);
    ended = true;
    changed.notify_one();
  }
};

ScoringClient::ScoringClient(Options options, OnScored on_scored)
    : options_(std::move(options)), on_scored_(std::move(on_scored)) {}

ScoringClient::~ScoringClient() { Disconnect(); }

void ScoringClient::Disconnect() {
  if (call_ == nullptr) return;
  call_->context.TryCancel();
  call_->reader.join();
  call_->stream->Finish();
  call_.reset();
}

absl::Status ScoringClient::Connect() {
  // A fresh stub: an old channel may still wait out its backoff.
  stub_ = v1::AnomalyDetectionService::NewStub(ConnectTo(options_.server));
  call_ = std::make_unique<Call>();
  call_->stream = stub_->StreamWindows(&call_->context);
  call_->reader = std::thread([call = call_.get()] { call->ReadAll(); });
  is_open_ = false;
  sent_ = 0;
  awaited_ = 0;
  resend_at_.reset();
  v1::StreamWindowsRequest request;
  *request.add_open() = options_.open;
  call_->stream->Write(request);  // a failure shows at the reader
  while (!is_open_) {
    const absl::StatusOr<bool> handled = HandleNext(std::nullopt);
    if (!handled.ok()) return handled.status();
  }
  trying_since_.reset();
  return absl::OkStatus();
}

// Begins anew as long as patience lasts; `reason` is why.
absl::Status ScoringClient::Reconnect(const absl::Status& reason) {
  absl::Status failure = reason;
  while (true) {
    const bool may_pass =
        absl::IsUnavailable(failure) || absl::IsAborted(failure);
    if (!may_pass) return failure;
    const auto now = steady_clock::now();
    if (!trying_since_) trying_since_ = now;
    if (now - *trying_since_ > options_.patience) return failure;
    Disconnect();
    std::this_thread::sleep_for(kPauseBetweenAttempts);
    failure = Connect();
    if (failure.ok()) return failure;
  }
}

absl::Status ScoringClient::Send(v1::Window window) {
  v1::StreamWindow& waiting = unanswered_.emplace_back();
  waiting.set_stream(options_.open.stream());
  waiting.set_sequence(next_sequence_++);
  *waiting.mutable_window() = std::move(window);
  if (call_ == nullptr) {
    absl::Status status = Connect();
    if (!status.ok()) status = Reconnect(status);
    if (!status.ok()) return status;
  }
  if (absl::Status status = WriteWaiting(); !status.ok()) return status;
  while (static_cast<int>(unanswered_.size()) > options_.max_in_flight) {
    const absl::StatusOr<bool> handled = HandleNext(std::nullopt);
    if (!handled.ok()) return handled.status();
  }
  return absl::OkStatus();
}

absl::Status ScoringClient::WriteWaiting() {
  if (resend_at_) return absl::OkStatus();
  while (sent_ < unanswered_.size() &&
         static_cast<int>(sent_) < options_.max_in_flight) {
    v1::StreamWindowsRequest request;
    *request.add_windows() = unanswered_[sent_];
    ++sent_;
    ++awaited_;
    call_->stream->Write(request);  // a failure shows at the reader
  }
  return absl::OkStatus();
}

absl::Status ScoringClient::WaitUntil(TimePoint deadline) {
  while (true) {
    if (call_ == nullptr) {
      std::this_thread::sleep_until(deadline);
      return absl::OkStatus();
    }
    const absl::StatusOr<bool> handled = HandleNext(deadline);
    if (!handled.ok()) return handled.status();
    if (!*handled) return absl::OkStatus();
  }
}

absl::Status ScoringClient::Finish() {
  while (!unanswered_.empty()) {
    const absl::StatusOr<bool> handled = HandleNext(std::nullopt);
    if (!handled.ok()) return handled.status();
  }
  if (call_ == nullptr) return absl::OkStatus();
  call_->stream->WritesDone();
  call_->reader.join();
  // Every answer has come; how the call ends changes nothing.
  call_->stream->Finish();
  call_.reset();
  return absl::OkStatus();
}

absl::StatusOr<bool> ScoringClient::HandleNext(
    std::optional<TimePoint> deadline) {
  std::optional<Response> response;
  {
    std::unique_lock lock(call_->mutex);
    const auto something = [this] {
      return call_->ended || !call_->replies.empty();
    };
    // All replies are in: the refused windows go out again when their delay is
    // over, whatever else is waited for.
    const bool resend = resend_at_ && awaited_ == 0;
    std::optional<TimePoint> until = deadline;
    if (resend)
      until = deadline ? std::min(*deadline, *resend_at_) : resend_at_;
    if (until) {
      call_->changed.wait_until(lock, *until, something);
    } else {
      call_->changed.wait(lock, something);
    }
    if (!call_->replies.empty()) {
      response = std::move(call_->replies.front());
      call_->replies.pop_front();
    } else if (!call_->ended) {
      lock.unlock();
      if (resend && steady_clock::now() >= *resend_at_) {
        resend_at_.reset();
        sent_ = 0;
        if (absl::Status status = WriteWaiting(); !status.ok()) return status;
        return true;
      }
      return false;
    }
  }
  absl::Status status;
  if (response) {
    status = Handle(*response);
  } else {
    call_->reader.join();
    const grpc::Status ending = call_->stream->Finish();
    call_.reset();
    status = ending.ok() ? absl::UnavailableError(absl::StrFormat(
                               "%s ended the call", options_.server))
                         : DescribeFailure(options_.server, ending);
    // Within Connect the caller decides; a call that was open begins anew.
    if (is_open_) {
      is_open_ = false;
      status = Reconnect(status);
      if (status.ok()) status = WriteWaiting();
    }
  }
  if (!status.ok()) return status;
  return true;
}

absl::Status ScoringClient::Handle(const Response& response) {
  switch (response.reply_case()) {
    case Response::kOpened:
      opened_ = response.opened();
      is_open_ = true;
      return absl::OkStatus();
    case Response::kScored:
      if (unanswered_.empty() || sent_ == 0 ||
          unanswered_.front().sequence() != response.scored().sequence()) {
        return absl::InternalError(
            absl::StrFormat("%s answered window %d out of turn",
                            options_.server, response.scored().sequence()));
      }
      unanswered_.pop_front();
      --sent_;
      --awaited_;
      on_scored_(response.scored());
      return WriteWaiting();
    case Response::kRejected:
      return HandleRejected(response.rejected());
    default:
      return absl::OkStatus();  // draining: the end of the call follows
  }
}

absl::Status ScoringClient::HandleRejected(const v1::WindowRejected& rejected) {
  std::string message = rejected.message();
  for (const auto& violation : rejected.field_violations()) {
    if (message.find(violation.description()) == std::string::npos) {
      message += absl::StrFormat("; %s: %s", violation.field(),
                                 violation.description());
    }
  }
  absl::Status reason = AbslStatus(
      rejected.code(), absl::StrFormat("%s: %s", options_.server, message));
  if (rejected.sequence() == 0) return reason;  // the opening
  --awaited_;
  if (rejected.has_retry_delay()) {
    if (!resend_at_) resend_at_ = steady_clock::now() + DelayOf(rejected);
    return absl::OkStatus();
  }
  // Those behind a window that was refused for now.
  if (resend_at_ && absl::IsFailedPrecondition(reason)) {
    return absl::OkStatus();
  }
  return absl::Status(reason.code(),
                      absl::StrFormat("window %d was refused: %s",
                                      rejected.sequence(), reason.message()));
}

}  // namespace telltale::server
