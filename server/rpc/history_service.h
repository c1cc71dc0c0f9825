#pragma once

#include <grpcpp/grpcpp.h>

#include "proto/telltale/v1/score_history_service.grpc.pb.h"
#include "server/storage/score_store.h"

namespace telltale::server {

// ScoreHistoryService: reads the archive. `store` must outlive it.
class HistoryService final
    : public ::telltale::v1::ScoreHistoryService::CallbackService {
 public:
  explicit HistoryService(ScoreStore& store) : store_(store) {}

  grpc::ServerUnaryReactor* ListScores(
      grpc::CallbackServerContext* context,
      const ::telltale::v1::ListScoresRequest* request,
      ::telltale::v1::ListScoresResponse* response) override;

 private:
  ScoreStore& store_;
};

}  // namespace telltale::server
