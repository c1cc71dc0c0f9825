#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <grpcpp/grpcpp.h>

#include "proto/telltale/v1/anomaly_detection_service.grpc.pb.h"
#include "server/rpc/attention_blocks.h"
#include "server/rpc/read_deadline.h"
#include "server/rpc/stream_call.h"

namespace telltale::server {

// One GetAttention call: rebuilds a stream's state where need be, scores the
// window in question once more, this time with its attention, and writes the
// rows block by block. Cut off when they are not read in time.
//
// Keeps itself alive until gRPC is done with it; shared with the callbacks of
// store and scheduler meanwhile.
class AttentionCall final
    : public grpc::ServerWriteReactor<::telltale::v1::GetAttentionResponse>,
      public std::enable_shared_from_this<AttentionCall> {
 public:
  // `running` counts the calls whose rows are not computed yet, which are few
  // at a time; of those that are, the budget bounds the memory. `call` is
  // touched until OnDone.
  static AttentionCall* Start(
      const StreamCallContext& context, std::atomic<int>& running,
      grpc::CallbackServerContext* call,
      const ::telltale::v1::GetAttentionRequest& request);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // A place among the running calls.
  class Place {
   public:
    explicit Place(std::atomic<int>& running) : running_(running) {
      running_.fetch_add(1);
    }
    ~Place() { running_.fetch_sub(1); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    int running() const { return running_.load(); }

   private:
    std::atomic<int>& running_;
  };

  AttentionCall(const StreamCallContext& context, std::atomic<int>& running,
                grpc::CallbackServerContext* call,
                const ::telltale::v1::GetAttentionRequest& request);

  absl::Status Begin();
  absl::Status BeginWithWindow();
  absl::Status BeginWithInstant();
  // kInvalidArgument, naming the field: layers that the model has not.
  absl::Status CheckLayers() const;
  void OnTail(absl::StatusOr<StreamTail> tail);
  absl::Status ReplayTail(StreamTail tail);
  // `share` is for the rows of the window; null when none are wanted of it.
  absl::Status Submit(std::shared_ptr<const data::Window> window,
                      std::shared_ptr<const AttentionBudget::Share> share);
  absl::Status SubmitWithRows(std::shared_ptr<const data::Window> window);
  void OnScored(absl::StatusOr<model::WindowScore> score,
                std::shared_ptr<const AttentionBudget::Share> share);
  // Of the verdicts, those on anomalies that were asked about.
  void KeepChecked(std::vector<model::InstantScore> instants);
  void WriteNext();

  const StreamCallContext context_;
  std::optional<Place> place_;  // until the rows are computed
  ReadDeadline deadline_;
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
  std::deque<model::InstantScore> checked_;
  std::optional<AttentionBlocks> blocks_;
  ::telltale::v1::GetAttentionResponse response_;
};

}  // namespace telltale::server
