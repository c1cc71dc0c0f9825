#pragma once

#include <grpcpp/grpcpp.h>

#include "proto/telltale/v1/model_service.grpc.pb.h"
#include "server/models.h"

namespace telltale::server {

// ModelService: describes the models. `models` must outlive it.
class ModelCatalogue final
    : public ::telltale::v1::ModelService::CallbackService {
 public:
  explicit ModelCatalogue(const Models& models) : models_(models) {}

  grpc::ServerUnaryReactor* GetModel(
      grpc::CallbackServerContext* context,
      const ::telltale::v1::GetModelRequest* request,
      ::telltale::v1::Model* response) override;

  grpc::ServerUnaryReactor* ListModels(
      grpc::CallbackServerContext* context,
      const ::telltale::v1::ListModelsRequest* request,
      ::telltale::v1::ListModelsResponse* response) override;

 private:
  const Models& models_;
};

}  // namespace telltale::server
