#include "server/rpc/attention_call.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"

#include "server/printable.h"
#include "server/rpc/channel_map.h"
#include "server/rpc/convert.h"
#include "server/rpc/error_details.h"
#include "server/streaming/stream_history.h"

namespace telltale::server {
namespace {

namespace v1 = ::telltale::v1;

constexpr int kMaxRunning = 4;

// The rows of a single query.
model::AttentionRows RowsOf(const model::AttentionRows& rows,
                            int64_t query_time_ns) {
  model::AttentionRows one{.layer = rows.layer,
                           .head_count = rows.head_count,
                           .query_time_ns = {},
                           .key_time_ns = rows.key_time_ns,
                           .weights = {},
                           .nothing = {}};
  const auto found = std::find(rows.query_time_ns.begin(),
                               rows.query_time_ns.end(), query_time_ns);
  if (found == rows.query_time_ns.end()) return one;
  one.query_time_ns = {query_time_ns};
  const int64_t query = found - rows.query_time_ns.begin();
  const auto queries = static_cast<int64_t>(rows.query_time_ns.size());
  const auto keys = static_cast<int64_t>(rows.key_time_ns.size());
  for (int head = 0; head < rows.head_count; ++head) {
    const int64_t row = head * queries + query;
    one.weights.insert(one.weights.end(), rows.weights.begin() + row * keys,
                       rows.weights.begin() + (row + 1) * keys);
    one.nothing.push_back(rows.nothing[row]);
  }
  return one;
}

}  // namespace

AttentionCall* AttentionCall::Start(const StreamCallContext& context,
                                    std::atomic<int>& running,
                                    grpc::CallbackServerContext* call,
                                    const v1::GetAttentionRequest& request) {
  std::shared_ptr<AttentionCall> self(
      new AttentionCall(context, running, call, request));
  self->self_ = self;
  if (absl::Status status = self->Begin(); !status.ok()) {
    self->place_.reset();
    self->Finish(ToGrpcStatus(status));
  }
  return self.get();
}

AttentionCall::AttentionCall(const StreamCallContext& context,
                             std::atomic<int>& running,
                             grpc::CallbackServerContext* call,
                             const v1::GetAttentionRequest& request)
    : context_(context),
      place_(std::in_place, running),
      deadline_(call, context.attention_patience),
      request_(request),
      stream_number_(context.session.scheduler.NewStream()) {}

absl::Status AttentionCall::Begin() {
  if (place_->running() > kMaxRunning) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "%d requests for attention are in work already", kMaxRunning));
  }
  switch (request_.source_case()) {
    case v1::GetAttentionRequest::kWindow:
      return BeginWithWindow();
    case v1::GetAttentionRequest::kInstant:
      return BeginWithInstant();
    default:
      return FieldError("source", "nothing to look at; set window or instant");
  }
}

absl::Status AttentionCall::BeginWithWindow() {
  const v1::AttentionWindow& source = request_.window();
  const absl::StatusOr<const Models::Entry*> model =
      context_.models.Find(source.model());
  if (!model.ok()) return model.status();
  const absl::StatusOr<ChannelMap> channels =
      ChannelMap::Create(source.channels(), (*model)->label->channels);
  if (!channels.ok()) return channels.status();
  absl::StatusOr<SentWindow> window =
      channels->Map(source.window(), context_.max_window_length);
  if (!window.ok()) return window.status();
  model_ = *model;
  if (absl::Status status = CheckLayers(); !status.ok()) return status;
  state_ = model_->detector->NewStream();
  return SubmitWithRows(window->window);
}

absl::Status AttentionCall::BeginWithInstant() {
  const v1::StoredInstant& source = request_.instant();
  absl::StatusOr<StreamKey> key =
      StreamKeyFrom(request_.tenant(), source.stream(), source.mode());
  if (!key.ok()) return key.status();
  // The window that holds the instant comes last, so that its predecessors have
  // to be reached over it.
  int64_t instants = context_.max_window_length;
  for (const auto& [name, entry] : context_.models.entries()) {
    instants = std::max<int64_t>(
        instants,
        context_.max_window_length + int64_t{entry.detector->replay_length()});
  }
  TailQuery query{.key = std::move(*key),
                  .instants = instants,
                  .until_time_ns = source.time_ns()};
  if (source.has_epoch()) query.epoch = source.epoch();
  only_time_ns_ = source.time_ns();
  context_.session.store.FindTail(
      std::move(query),
      [self = shared_from_this()](absl::StatusOr<StreamTail> tail) {
        self->OnTail(std::move(tail));
      });
  return absl::OkStatus();
}

void AttentionCall::OnTail(absl::StatusOr<StreamTail> tail) {
  absl::Status status = tail.status();
  if (status.ok()) status = ReplayTail(std::move(*tail));
  if (status.ok()) return;
  unwanted_.store(true);  // the replay may be in the queue already
  place_.reset();
  Finish(ToGrpcStatus(status));
}

absl::Status AttentionCall::ReplayTail(StreamTail tail) {
  const WindowRecord last = std::move(tail.windows.back());
  tail.windows.pop_back();
  model_ = context_.models.FindVersion(last.model->version);
  if (model_ == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrFormat("the instant was scored by version %s of model '%s', "
                        "which this server has not loaded",
                        last.model->version, last.model->name));
  }
  if (absl::Status status = CheckLayers(); !status.ok()) return status;
  tail.instant_count = last.first_instant;
  absl::StatusOr<Replay> before =
      ReplayOf(tail, model_->detector->replay_length());
  if (!before.ok()) return before.status();
  StreamTail only_last;
  only_last.instant_count = last.first_instant + last.added_instants;
  only_last.windows.push_back(last);
  absl::StatusOr<Replay> asked = ReplayOf(only_last, last.added_instants);
  if (!asked.ok()) return asked.status();
  if (!asked->window) return absl::DataLossError("the stored window is empty");

  state_ = model_->detector->NewStream(before->first_instant);
  if (before->window) {
    if (absl::Status status = Submit(
            std::make_shared<const data::Window>(std::move(*before->window)),
            nullptr);
        !status.ok()) {
      return status;
    }
  }
  return SubmitWithRows(
      std::make_shared<const data::Window>(std::move(*asked->window)));
}

absl::Status AttentionCall::SubmitWithRows(
    std::shared_ptr<const data::Window> window) {
  auto share = context_.session.attention.Reserve(
      model_->detector->description(), window->length());
  if (absl::IsInvalidArgument(share.status())) {
    return WithField(share.status(), "window.time_ns");
  }
  if (!share.ok()) return share.status();
  return Submit(std::move(window), *std::move(share));
}

absl::Status AttentionCall::Submit(
    std::shared_ptr<const data::Window> window,
    std::shared_ptr<const AttentionBudget::Share> share) {
  auto self = shared_from_this();
  const bool with_attention = share != nullptr;
  auto task = std::make_unique<ScoreTask>(ScoreTask{
      .stream = stream_number_,
      .detector = model_->detector.get(),
      .state = state_.get(),
      .window = std::move(window),
      .with_attention = with_attention,
      .with_masking = with_attention && request_.masking_check(),
      .wanted = [self] { return !self->unwanted_.load(); },
      .done =
          [self,
           share = std::move(share)](absl::StatusOr<model::WindowScore> score) {
            if (share != nullptr) {
              self->OnScored(std::move(score), share);
            } else if (!score.ok()) {
              self->unwanted_.store(true);
            }
          }});
  return context_.session.scheduler.Submit(task);
}

absl::Status AttentionCall::CheckLayers() const {
  const int count = model_->detector->description().layer_count;
  for (int i = 0; i < request_.layers_size(); ++i) {
    const int layer = request_.layers(i);
    if (layer >= 0 && layer < count) continue;
    return FieldError(absl::StrFormat("layers[%d]", i),
                      absl::StrFormat("there is no layer %d; model '%s' has "
                                      "%d, from 0 to %d",
                                      layer, Printable(model_->label->name),
                                      count, count - 1));
  }
  return absl::OkStatus();
}

void AttentionCall::OnScored(
    absl::StatusOr<model::WindowScore> score,
    std::shared_ptr<const AttentionBudget::Share> share) {
  place_.reset();
  if (!score.ok()) return Finish(ToGrpcStatus(score.status()));
  std::vector<model::AttentionRows> wanted;
  for (model::AttentionRows& rows : score->attention) {
    const auto& layers = request_.layers();
    if (!layers.empty() &&
        std::find(layers.begin(), layers.end(), rows.layer) == layers.end()) {
      continue;
    }
    wanted.push_back(only_time_ns_ ? RowsOf(rows, *only_time_ns_)
                                   : std::move(rows));
  }
  if (request_.masking_check()) KeepChecked(std::move(score->instants));
  blocks_.emplace(std::move(wanted), std::move(share));
  deadline_.Start();
  WriteNext();
}

void AttentionCall::KeepChecked(std::vector<model::InstantScore> instants) {
  for (model::InstantScore& instant : instants) {
    if (!instant.anomaly) continue;
    if (only_time_ns_ && instant.time_ns != *only_time_ns_) continue;
    if (instant.contributions.size() > 1) instant.contributions.resize(1);
    checked_.push_back(std::move(instant));
  }
}

void AttentionCall::WriteNext() {
  response_.Clear();
  if (!checked_.empty()) {
    ToProto(checked_.front(), model_->label->channels,
            *response_.mutable_checked());
    checked_.pop_front();
    response_.set_model_version(model_->label->version);
    return StartWrite(&response_);
  }
  if (!blocks_->Next(*response_.mutable_rows())) {
    deadline_.Stop();
    return Finish(grpc::Status::OK);
  }
  response_.set_model_version(model_->label->version);
  StartWrite(&response_);
}

void AttentionCall::OnWriteDone(bool ok) {
  if (!ok) return Finish(grpc::Status::CANCELLED);
  WriteNext();
}

void AttentionCall::OnCancel() { unwanted_.store(true); }

void AttentionCall::OnDone() {
  deadline_.Forget();
  self_.reset();
}

}  // namespace telltale::server
