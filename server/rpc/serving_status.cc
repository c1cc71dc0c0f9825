#include "server/rpc/serving_status.h"

#include "proto/telltale/v1/anomaly_detection_service.grpc.pb.h"
#include "proto/telltale/v1/model_service.grpc.pb.h"
#include "proto/telltale/v1/score_history_service.grpc.pb.h"

namespace telltale::server {

namespace v1 = ::telltale::v1;

void ServingStatus::Begin(grpc::HealthCheckServiceInterface* health) {
  const std::lock_guard lock(mutex_);
  health_ = health;
  health_->SetServingStatus(v1::ScoreHistoryService::service_full_name(), true);
  health_->SetServingStatus(v1::ModelService::service_full_name(), true);
  TellLocked();
}

void ServingStatus::SetWritable(bool writable) {
  const std::lock_guard lock(mutex_);
  writable_ = writable;
  if (health_ != nullptr) TellLocked();
}

void ServingStatus::TellLocked() {
  health_->SetServingStatus("", writable_);
  health_->SetServingStatus(v1::AnomalyDetectionService::service_full_name(),
                            writable_);
}

void ServingStatus::End() {
  const std::lock_guard lock(mutex_);
  if (health_ != nullptr) health_->SetServingStatus(false);
  health_ = nullptr;
}

}  // namespace telltale::server
