#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <grpcpp/grpcpp.h>

#include "proto/telltale/v1/anomaly_detection_service.grpc.pb.h"
#include "server/rpc/stream_call.h"

namespace telltale::server {

// One GetAttention call: rebuilds a stream's state where need be, scores the
// window in question once more, this time with its attention, and writes the
// rows block by block.
//
// Keeps itself alive until gRPC is done with it; shared with the callbacks of
// store and scheduler meanwhile.
class AttentionCall final
    : public grpc::ServerWriteReactor<::telltale::v1::GetAttentionResponse>,
      public std::enable_shared_from_this<AttentionCall> {
 public:
  // `running` counts the calls in work, which are few at a time: full matrices
  // are large.
  static AttentionCall* Start(
      const StreamCallContext& context, std::atomic<int>& running,
      const ::telltale::v1::GetAttentionRequest& request);
  ~AttentionCall() override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  AttentionCall(const StreamCallContext& context, std::atomic<int>& running,
                const ::telltale::v1::GetAttentionRequest& request);

  absl::Status Begin();
  absl::Status BeginWithWindow();
  absl::Status BeginWithInstant();
  void OnTail(absl::StatusOr<StreamTail> tail);
  absl::Status ReplayTail(StreamTail tail);
  absl::Status Submit(std::shared_ptr<const data::Window> window,
                      bool with_attention);
  void OnScored(absl::StatusOr<model::WindowScore> score);
  void AddBlocks(const model::AttentionRows& rows);
  void WriteNext();

  const StreamCallContext context_;
  std::atomic<int>& running_;
  const ::telltale::v1::GetAttentionRequest request_;
  const uint64_t stream_number_;
  std::shared_ptr<AttentionCall> self_;  // until OnDone
  const Models::Entry* model_ = nullptr;
  std::unique_ptr<model::StreamState> state_;
  // The client is gone, or an error has been answered. Asked by the scheduler,
  // also when gRPC has let go of the call already.
  std::atomic<bool> unwanted_{false};
  std::optional<int64_t> only_time_ns_;  // the query that was asked for
  // Filled once, by the scoring thread, before the first write.
  std::deque<::telltale::v1::GetAttentionResponse> blocks_;
  ::telltale::v1::GetAttentionResponse response_;
};

}  // namespace telltale::server
