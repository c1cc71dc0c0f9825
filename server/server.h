#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include <grpcpp/server.h>

#include "server/models.h"
#include "server/observability/log.h"
#include "server/options.h"
#include "server/rpc/detection_service.h"
#include "server/rpc/history_service.h"
#include "server/rpc/model_service.h"
#include "server/rpc/serving_status.h"
#include "server/scheduling/batch_scheduler.h"
#include "server/scheduling/clock.h"
#include "server/storage/score_store.h"
#include "server/streaming/attention_budget.h"
#include "server/streaming/stream_registry.h"

namespace telltale::server {

// The service: owns its parts and the port that they are reached at.
class Server {
 public:
  // Opens the store, warms the models up and listens. `log` and `clock` must
  // outlive the server. kFailedPrecondition and kUnavailable: store or port
  // cannot be had; the message says which.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Options& options,
                                                       Models models, Log& log,
                                                       Clock& clock);

  // Drains, if that has not been done.
  ~Server();

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Host and port, with the port that was bound.
  const std::string& address() const { return address_; }

  // Turns NOT_SERVING, answers and stores what was accepted, tells the streams,
  // and ends all calls; those that have not ended after three quarters of
  // `drain_seconds` are cut off. Returns when everything is on disk.
  void Drain();

 private:
  Server(const Options& options, Models models,
         std::shared_ptr<ServingStatus> serving,
         std::unique_ptr<ScoreStore> store, Log& log, Clock& clock);

  absl::Status Listen();
  absl::Status WarmUp();

  const Options options_;
  Log& log_;
  const Models models_;
  const std::shared_ptr<ServingStatus> serving_;  // shared with the store
  // In the order of dependence: destroyed in reverse.
  AttentionBudget attention_;
  std::unique_ptr<ScoreStore> store_;
  std::unique_ptr<BatchScheduler> scheduler_;
  StreamRegistry registry_;
  DetectionService detection_;
  HistoryService history_;
  ModelCatalogue catalogue_;
  std::unique_ptr<grpc::Server> grpc_server_;
  std::string address_;
};

}  // namespace telltale::server
