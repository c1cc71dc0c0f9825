#include "server/rpc/stream_call.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_format.h"

#include "server/rpc/convert.h"
#include "server/rpc/error_details.h"

namespace telltale::server {
namespace {

namespace v1 = ::telltale::v1;

constexpr int kMaxWindowsAFrame = 1024;
constexpr size_t kMaxRequestIdBytes = 64;
// Replies that may wait for the client before its next frame has to.
constexpr size_t kMaxWaitingReplies = 8;

AttentionDetail DetailFrom(v1::AttentionDetail detail) {
  switch (detail) {
    case v1::ATTENTION_DETAIL_NONE:
      return AttentionDetail::kNone;
    case v1::ATTENTION_DETAIL_ROWS:
      return AttentionDetail::kRows;
    default:
      return AttentionDetail::kPeaks;
  }
}

}  // namespace

std::shared_ptr<StreamCall> StreamCall::Start(
    const StreamCallContext& context) {
  std::shared_ptr<StreamCall> call(new StreamCall(context));
  call->self_ = call;
  call->StartRead(&call->request_);
  return call;
}

void StreamCall::OnReadDone(bool ok) {
  if (!ok) {
    {
      const std::lock_guard lock(mutex_);
      half_closed_ = true;
      reading_ = false;
    }
    FinishWhenDone();
    return;
  }
  if (absl::Status status = CheckFrame(); status.ok()) {
    TakeFrame();
  } else {
    const std::lock_guard lock(mutex_);
    failure_ = status;
  }
  {
    const std::lock_guard lock(mutex_);
    reading_ = false;
  }
  ContinueReading();
  FinishWhenDone();
}

absl::Status StreamCall::CheckFrame() const {
  if (request_.request_id().size() > kMaxRequestIdBytes) {
    return FieldError(
        "request_id",
        absl::StrFormat("it has %d bytes; at most %d are taken",
                        request_.request_id().size(), kMaxRequestIdBytes));
  }
  if (request_.windows_size() > kMaxWindowsAFrame) {
    return FieldError(
        "windows", absl::StrFormat("the frame has %d windows; at most %d "
                                   "are taken",
                                   request_.windows_size(), kMaxWindowsAFrame));
  }
  return absl::OkStatus();
}

void StreamCall::TakeFrame() {
  for (const v1::OpenStream& open : request_.open()) {
    if (absl::Status status = OpenStream(open); !status.ok()) {
      Reject(open.stream(), 0, status);
    }
  }
  for (const v1::StreamWindow& window : request_.windows()) {
    TakeWindow(window);
  }
}

absl::Status StreamCall::OpenStream(const v1::OpenStream& open) {
  absl::StatusOr<StreamKey> key =
      StreamKeyFrom(open.tenant(), open.stream(), open.mode());
  if (!key.ok()) return key.status();
  if (open.epoch() < 0) {
    return FieldError("epoch", absl::StrFormat("epoch %d is negative; epochs "
                                               "begin at 0",
                                               open.epoch()));
  }
  const absl::StatusOr<const Models::Entry*> model =
      context_.models.Find(open.model());
  if (!model.ok()) return model.status();
  absl::StatusOr<ChannelMap> channels =
      ChannelMap::Create(open.channels(), (*model)->label->channels);
  if (!channels.ok()) return channels.status();

  std::shared_ptr<StreamSession> session;
  {
    const std::lock_guard lock(mutex_);
    if (draining_) {
      return absl::UnavailableError("the server is about to stop");
    }
    if (const auto found = streams_.find(open.stream());
        found != streams_.end() && found->second.session->closed()) {
      std::erase(fed_, found->second.session);
      streams_.erase(found);
    }
    if (streams_.contains(open.stream())) {
      return absl::AbortedError(absl::StrFormat(
          "stream '%s' is open in this call already", open.stream()));
    }
    if (static_cast<int>(streams_.size()) >= context_.max_streams_a_call) {
      return absl::ResourceExhaustedError(
          absl::StrFormat("a call takes at most %d streams; open another call",
                          context_.max_streams_a_call));
    }
    absl::StatusOr<std::unique_ptr<StreamRegistry::Lease>> lease =
        context_.registry.Open(*key);
    if (!lease.ok()) return lease.status();
    session = std::make_shared<StreamSession>(
        context_.session,
        StreamSession::Options{
            .epoch = open.epoch(),
            .detector = (*model)->detector.get(),
            .model = (*model)->label,
            .attention_detail = DetailFrom(open.attention_detail())},
        std::move(*lease), shared_from_this());
    streams_.emplace(open.stream(),
                     OpenedStream{session, std::move(*channels)});
    fed_.push_back(session);
  }
  session->Open();
  return absl::OkStatus();
}

void StreamCall::TakeWindow(const v1::StreamWindow& sent) {
  const OpenedStream* stream = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(sent.stream());
    if (found != streams_.end() && !found->second.session->closed()) {
      stream = &found->second;  // only this thread takes streams away
      if (fed_.empty() || fed_.back() != stream->session) {
        fed_.push_back(stream->session);
      }
    }
  }
  if (stream == nullptr) {
    return Reject(sent.stream(), sent.sequence(),
                  absl::FailedPreconditionError(absl::StrFormat(
                      "stream '%s' is not open in this call", sent.stream())));
  }
  if (sent.sequence() < 1) {
    return stream->session->Refuse(
        sent.sequence(),
        FieldError("sequence", absl::StrFormat("sequence %d; they begin at 1",
                                               sent.sequence())));
  }
  absl::StatusOr<SentWindow> window =
      stream->channels.Map(sent.window(), context_.max_window_length);
  if (!window.ok()) {
    return stream->session->Refuse(sent.sequence(), window.status());
  }
  window->sequence = sent.sequence();
  stream->session->Take(std::move(*window));
}

void StreamCall::Reject(const std::string& stream, int64_t sequence,
                        const absl::Status& reason) {
  Send({.stream = stream,
        .content = WindowRejected{.sequence = sequence, .reason = reason}});
}

void StreamCall::Send(StreamReply reply) {
  const std::lock_guard lock(mutex_);
  if (gone_ || finished_) return;
  replies_.push_back(std::move(reply));
  WriteNextLocked();
}

void StreamCall::WriteNextLocked() {
  if (writing_ || finished_ || gone_) return;
  if (blocks_.empty() && !replies_.empty()) BlocksFromLocked(replies_.front());
  if (!blocks_.empty()) {
    response_ = std::move(blocks_.front());
    blocks_.pop_front();
  } else if (!replies_.empty()) {
    response_.Clear();
    ToProto(replies_.front(), response_);
    replies_.pop_front();
  } else {
    return;
  }
  writing_ = true;
  StartWrite(&response_);
}

void StreamCall::BlocksFromLocked(StreamReply& reply) {
  auto* scored = std::get_if<WindowScored>(&reply.content);
  if (scored == nullptr) return;
  for (const model::AttentionRows& rows : scored->score.attention) {
    ForEachBlock(rows, [&](v1::AttentionRows block) {
      Response& response = blocks_.emplace_back();
      response.set_stream(reply.stream);
      response.mutable_attention()->set_sequence(scored->sequence);
      *response.mutable_attention()->mutable_rows() = std::move(block);
    });
  }
  scored->score.attention.clear();
}

void StreamCall::OnWriteDone(bool ok) {
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok) {
      gone_ = true;
      replies_.clear();
      blocks_.clear();
    }
    WriteNextLocked();
  }
  ContinueReading();
  FinishWhenDone();
}

void StreamCall::OnProgress() {
  ContinueReading();
  FinishWhenDone();
}

void StreamCall::ContinueReading() {
  std::vector<Session> fed;
  {
    const std::lock_guard lock(mutex_);
    if (reading_) return;
    fed = fed_;
  }
  // A session that becomes free after this look calls OnProgress, and with it
  // this function, again.
  for (const Session& session : fed) {
    if (session->congested()) return;
  }
  const std::lock_guard lock(mutex_);
  if (reading_ || half_closed_ || finished_ || gone_ || !failure_.ok() ||
      replies_.size() + blocks_.size() >= kMaxWaitingReplies) {
    return;
  }
  fed_.clear();
  reading_ = true;
  StartRead(&request_);
}

void StreamCall::FinishWhenDone() {
  bool draining = false;
  {
    const std::lock_guard lock(mutex_);
    draining = draining_;
    const bool ending = half_closed_ || draining_ || gone_ || !failure_.ok();
    if (finished_ || !ending) return;
  }
  const std::vector<Session> sessions = Sessions();
  const bool idle = std::all_of(
      sessions.begin(), sessions.end(), [draining](const Session& session) {
        return draining ? session->drained() : session->idle();
      });
  const std::lock_guard lock(mutex_);
  const bool nothing_left = idle && replies_.empty() && blocks_.empty();
  if (finished_ || writing_) return;
  if (!nothing_left && failure_.ok() && !gone_) return;
  finished_ = true;
  if (!failure_.ok()) {
    Finish(ToGrpcStatus(failure_));
  } else if (draining_) {
    Finish(ToGrpcStatus(absl::UnavailableError(
        "the server is about to stop; open the streams again when it is "
        "back")));
  } else {
    Finish(grpc::Status::OK);
  }
}

void StreamCall::Drain() {
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
  }
  for (const Session& session : Sessions()) session->Drain();
  FinishWhenDone();
}

std::vector<StreamCall::Session> StreamCall::Sessions() const {
  const std::lock_guard lock(mutex_);
  std::vector<Session> sessions;
  sessions.reserve(streams_.size());
  for (const auto& [name, stream] : streams_) {
    sessions.push_back(stream.session);
  }
  return sessions;
}

void StreamCall::OnCancel() {
  {
    const std::lock_guard lock(mutex_);
    gone_ = true;
    replies_.clear();
    blocks_.clear();
  }
  DetachSessions();
  FinishWhenDone();
}

void StreamCall::OnDone() {
  DetachSessions();
  self_.reset();
}

void StreamCall::DetachSessions() {
  for (const Session& session : Sessions()) session->Detach();
}

}  // namespace telltale::server
