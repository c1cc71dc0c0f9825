#include "server/rpc/model_service.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "server/rpc/convert.h"
#include "server/rpc/error_details.h"

namespace telltale::server {
namespace {

namespace v1 = ::telltale::v1;

constexpr int kDefaultPageSize = 100;
constexpr int kMaxPageSize = 1000;
constexpr size_t kMaxPageBytes = 1 << 20;

// The page token is the name that the page before ended with.
absl::Status FillPage(const Models& models,
                      const v1::ListModelsRequest& request,
                      v1::ListModelsResponse& response) {
  if (request.page_size() < 0) {
    return FieldError("page_size",
                      absl::StrFormat("%d; 0 or more", request.page_size()));
  }
  if (!request.page_token().empty() &&
      !models.entries().contains(request.page_token())) {
    return FieldError("page_token",
                      "not a token of this listing; take next_page_token as "
                      "it is");
  }
  const int limit = request.page_size() == 0
                        ? kDefaultPageSize
                        : std::min(request.page_size(), kMaxPageSize);
  size_t bytes = 0;
  const auto begin = request.page_token().empty()
                         ? models.entries().begin()
                         : models.entries().upper_bound(request.page_token());
  for (auto entry = begin; entry != models.entries().end(); ++entry) {
    if (response.models_size() == limit || bytes > kMaxPageBytes) {
      response.set_next_page_token(
          response.models(response.models_size() - 1).name());
      break;
    }
    v1::Model& model = *response.add_models();
    ToProto(entry->second.detector->description(), model);
    bytes += model.ByteSizeLong();
  }
  return absl::OkStatus();
}

}  // namespace

grpc::ServerUnaryReactor* ModelCatalogue::GetModel(
    grpc::CallbackServerContext* context, const v1::GetModelRequest* request,
    v1::Model* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  absl::Status status;
  if (request->name().empty()) {
    status = FieldError("name", "it is empty; ListModels tells the names");
  } else {
    const absl::StatusOr<const Models::Entry*> model =
        models_.Find(request->name());
    status = model.status();
    if (model.ok()) ToProto((*model)->detector->description(), *response);
  }
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

grpc::ServerUnaryReactor* ModelCatalogue::ListModels(
    grpc::CallbackServerContext* context, const v1::ListModelsRequest* request,
    v1::ListModelsResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(FillPage(models_, *request, *response)));
  return reactor;
}

}  // namespace telltale::server
