#include "server/rpc/detection_service.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_format.h"

#include "server/rpc/attention_call.h"
#include "server/rpc/channel_map.h"
#include "server/rpc/convert.h"
#include "server/rpc/error_details.h"

namespace telltale::server {
namespace {

namespace v1 = ::telltale::v1;

// The answer to a call that cannot even begin.
class RefusedCall final
    : public grpc::ServerBidiReactor<v1::StreamWindowsRequest,
                                     v1::StreamWindowsResponse> {
 public:
  explicit RefusedCall(const absl::Status& reason) {
    Finish(ToGrpcStatus(reason));
  }
  void OnDone() override { delete this; }
};

// One ScoreWindow request on its way through the scheduler.
struct SingleWindow {
  std::unique_ptr<model::StreamState> state;
  const Models::Entry* model = nullptr;
  bool with_points = true;
};

absl::Status SubmitSingle(const StreamCallContext& context,
                          const v1::ScoreWindowRequest& request,
                          const grpc::CallbackServerContext& call,
                          v1::ScoreWindowResponse* response,
                          grpc::ServerUnaryReactor* reactor) {
  const absl::StatusOr<StreamKey> key =
      StreamKeyFrom(request.tenant(), "none", v1::STREAM_MODE_LIVE);
  if (!key.ok()) return key.status();
  const absl::StatusOr<const Models::Entry*> model =
      context.models.Find(request.model());
  if (!model.ok()) return model.status();
  const absl::StatusOr<ChannelMap> channels =
      ChannelMap::Create(request.channels(), (*model)->label->channels);
  if (!channels.ok()) return channels.status();
  absl::StatusOr<SentWindow> window =
      channels->Map(request.window(), context.max_window_length);
  if (!window.ok()) return window.status();

  auto single = std::make_shared<SingleWindow>();  // shared by the callbacks
  single->state = (*model)->detector->NewStream();
  single->model = *model;
  single->with_points = request.attention_detail() != v1::ATTENTION_DETAIL_NONE;
  auto done = [single, response,
               reactor](absl::StatusOr<model::WindowScore> score) {
    if (!score.ok()) return reactor->Finish(ToGrpcStatus(score.status()));
    const model::Detector& detector = *single->model->detector;
    for (model::InstantScore& instant : score->instants) {
      if (!single->with_points) instant.points_back_to.clear();
      ToProto(instant, single->model->label->channels,
              *response->add_instants());
    }
    LimitDetail(*response->mutable_instants());
    response->set_threshold(detector.description().threshold);
    response->set_model(single->model->label->name);
    response->set_model_version(single->model->label->version);
    reactor->Finish(grpc::Status::OK);
  };
  auto task = std::make_unique<ScoreTask>(
      ScoreTask{.stream = context.session.scheduler.NewStream(),
                .detector = (*model)->detector.get(),
                .state = single->state.get(),
                .window = window->window,
                .with_attention = false,
                .with_masking = request.masking_check() && single->with_points,
                .wanted = [&call] { return !call.IsCancelled(); },
                .done = std::move(done)});
  return context.session.scheduler.Submit(task);
}

}  // namespace

grpc::ServerBidiReactor<v1::StreamWindowsRequest, v1::StreamWindowsResponse>*
DetectionService::StreamWindows(grpc::CallbackServerContext* context) {
  const std::lock_guard lock(mutex_);
  if (draining_) {
    // Owns itself until OnDone.
    return new RefusedCall(
        absl::UnavailableError("the server is about to stop"));
  }
  std::erase_if(calls_, [](const auto& call) { return call.expired(); });
  std::shared_ptr<StreamCall> call = StreamCall::Start(context_, context);
  calls_.push_back(call);
  return call.get();
}

void DetectionService::Drain() {
  std::vector<std::weak_ptr<StreamCall>> calls;
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
    calls.swap(calls_);
  }
  for (const std::weak_ptr<StreamCall>& weak : calls) {
    if (const std::shared_ptr<StreamCall> call = weak.lock()) call->Drain();
  }
}

grpc::ServerUnaryReactor* DetectionService::ScoreWindow(
    grpc::CallbackServerContext* context, const v1::ScoreWindowRequest* request,
    v1::ScoreWindowResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const absl::Status status =
      SubmitSingle(context_, *request, *context, response, reactor);
  if (!status.ok()) reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

grpc::ServerWriteReactor<v1::GetAttentionResponse>*
DetectionService::GetAttention(grpc::CallbackServerContext* context,
                               const v1::GetAttentionRequest* request) {
  return AttentionCall::Start(context_, attention_calls_, context, *request);
}

}  // namespace telltale::server
