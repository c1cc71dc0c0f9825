#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "proto/telltale/v1/anomaly_detection_service.grpc.pb.h"
#include "server/rpc/stream_call.h"

namespace telltale::server {

// AnomalyDetectionService: checks requests and hands them to sessions and
// scheduler. Its methods run on gRPC's threads and take microseconds.
class DetectionService final
    : public ::telltale::v1::AnomalyDetectionService::CallbackService {
 public:
  explicit DetectionService(const StreamCallContext& context)
      : context_(context) {}

  // Ends every streaming call as StreamCall::Drain says; refuses new ones.
  void Drain();

  grpc::ServerBidiReactor<::telltale::v1::StreamWindowsRequest,
                          ::telltale::v1::StreamWindowsResponse>*
  StreamWindows(grpc::CallbackServerContext* context) override;

  grpc::ServerUnaryReactor* ScoreWindow(
      grpc::CallbackServerContext* context,
      const ::telltale::v1::ScoreWindowRequest* request,
      ::telltale::v1::ScoreWindowResponse* response) override;

  grpc::ServerWriteReactor<::telltale::v1::GetAttentionResponse>* GetAttention(
      grpc::CallbackServerContext* context,
      const ::telltale::v1::GetAttentionRequest* request) override;

 private:
  const StreamCallContext context_;
  std::atomic<int> attention_calls_{0};

  std::mutex mutex_;  // guards the members below
  bool draining_ = false;
  std::vector<std::weak_ptr<StreamCall>> calls_;  // swept as it grows
};

}  // namespace telltale::server
