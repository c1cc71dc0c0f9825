#include "server/rpc/stream_call.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_format.h"

#include "server/printable.h"
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

absl::Status CheckOpening(const v1::OpenStream& open) {
  if (open.epoch() < 0) {
    return FieldError("epoch", absl::StrFormat("epoch %d is negative; epochs "
                                               "begin at 0",
                                               open.epoch()));
  }
  if (!v1::AttentionDetail_IsValid(open.attention_detail())) {
    return FieldError(
        "attention_detail",
        absl::StrFormat("detail %d is unknown; NONE, PEAKS and "
                        "ROWS are taken",
                        static_cast<int>(open.attention_detail())));
  }
  return absl::OkStatus();
}

bool HasRows(const StreamReply& reply) {
  const auto* scored = std::get_if<WindowScored>(&reply.content);
  return scored != nullptr && !scored->score.attention.empty();
}

}  // namespace

std::shared_ptr<StreamCall> StreamCall::Start(
    const StreamCallContext& context, grpc::CallbackServerContext* call) {
  std::shared_ptr<StreamCall> started(new StreamCall(context, call));
  started->self_ = started;
  started->StartRead(&started->request_);
  return started;
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
  if (absl::Status status = CheckOpening(open); !status.ok()) return status;
  const absl::StatusOr<const Models::Entry*> model =
      context_.models.Find(open.model());
  if (!model.ok()) return model.status();
  absl::StatusOr<ChannelMap> channels =
      ChannelMap::Create(open.channels(), (*model)->label->channels);
  if (!channels.ok()) return channels.status();

  const AttentionDetail detail = DetailFrom(open.attention_detail());
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
      return absl::AbortedError(
          absl::StrFormat("stream '%s' is open in this call already",
                          Printable(open.stream())));
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
        StreamSession::Options{.epoch = open.epoch(),
                               .detector = (*model)->detector.get(),
                               .model = (*model)->label,
                               .attention_detail = detail,
                               .masking_check = open.masking_check()},
        std::move(*lease), shared_from_this());
    streams_.emplace(open.stream(),
                     OpenedStream{session, std::move(*channels),
                                  detail == AttentionDetail::kRows
                                      ? &(*model)->detector->description()
                                      : nullptr});
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
    return Reject(
        sent.stream(), sent.sequence(),
        absl::FailedPreconditionError(absl::StrFormat(
            "stream '%s' is not open in this call", Printable(sent.stream()))));
  }
  absl::StatusOr<SentWindow> window = ReadWindow(*stream, sent);
  if (!window.ok()) {
    return stream->session->Refuse(sent.sequence(), window.status());
  }
  stream->session->Take(std::move(*window));
}

absl::StatusOr<SentWindow> StreamCall::ReadWindow(
    const OpenedStream& stream, const v1::StreamWindow& sent) {
  if (sent.sequence() < 1) {
    return FieldError(
        "sequence",
        absl::StrFormat("sequence %d; they begin at 1", sent.sequence()));
  }
  absl::StatusOr<SentWindow> window =
      stream.channels.Map(sent.window(), context_.max_window_length);
  if (!window.ok()) return window;
  window->sequence = sent.sequence();
  if (stream.rows_of == nullptr) return window;
  const absl::Status fits = context_.session.attention.Check(
      *stream.rows_of, window->window->length());
  if (!fits.ok()) return WithField(fits, "window.time_ns");
  return window;
}

void StreamCall::Reject(const std::string& stream, int64_t sequence,
                        const absl::Status& reason) {
  Send({.stream = stream,
        .content = WindowRejected{.sequence = sequence, .reason = reason}});
}

void StreamCall::Send(StreamReply reply) {
  const std::lock_guard lock(mutex_);
  if (gone_ || finished_) return;
  if (HasRows(reply) && ++rows_waiting_ == 1) rows_deadline_.Start();
  replies_.push_back(std::move(reply));
  WriteNextLocked();
}

void StreamCall::WriteNextLocked() {
  if (writing_ || finished_ || gone_) return;
  if (replies_.empty()) return;
  if (!rows_ && HasRows(replies_.front())) {
    auto& scored = std::get<WindowScored>(replies_.front().content);
    rows_.emplace(std::exchange(scored.score.attention, {}),
                  std::move(scored.attention_share));
  }
  response_.Clear();
  if (rows_ && rows_->Next(*response_.mutable_attention()->mutable_rows())) {
    const StreamReply& reply = replies_.front();
    response_.set_stream(reply.stream);
    response_.mutable_attention()->set_sequence(
        std::get<WindowScored>(reply.content).sequence);
  } else {
    if (rows_) FinishRowsLocked();
    ToProto(replies_.front(), response_);
    replies_.pop_front();
  }
  writing_ = true;
  StartWrite(&response_);
}

void StreamCall::FinishRowsLocked() {
  rows_.reset();
  if (--rows_waiting_ > 0) {
    rows_deadline_.Start();
  } else {
    rows_deadline_.Stop();
  }
}

void StreamCall::DropRepliesLocked() {
  gone_ = true;
  replies_.clear();
  rows_.reset();
  rows_waiting_ = 0;
  rows_deadline_.Stop();
}

void StreamCall::OnWriteDone(bool ok) {
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok) DropRepliesLocked();
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
      replies_.size() >= kMaxWaitingReplies) {
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
  const bool nothing_left = idle && replies_.empty();
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
    DropRepliesLocked();
  }
  DetachSessions();
  FinishWhenDone();
}

void StreamCall::OnDone() {
  rows_deadline_.Forget();
  DetachSessions();
  self_.reset();
}

void StreamCall::DetachSessions() {
  for (const Session& session : Sessions()) session->Detach();
}

}  // namespace telltale::server
