#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include <grpcpp/grpcpp.h>

#include "proto/telltale/v1/anomaly_detection_service.grpc.pb.h"
#include "server/models.h"
#include "server/rpc/attention_blocks.h"
#include "server/rpc/channel_map.h"
#include "server/rpc/read_deadline.h"
#include "server/streaming/stream_registry.h"
#include "server/streaming/stream_session.h"

namespace telltale::server {

// What a streaming call works with. All must outlive it.
struct StreamCallContext {
  const Models& models;
  StreamRegistry& registry;
  SessionContext session;
  int max_window_length = 1024;
  int max_streams_a_call = 1024;
  // How long a client may take to read the attention rows of a window.
  std::chrono::milliseconds attention_patience = std::chrono::minutes(1);
};

// One StreamWindows call: reads frames, hands their windows to the sessions of
// their streams, and writes what the sessions reply.
//
// At most one read and one write are outstanding. The next frame is read when
// the replies to the one before are few and no session is congested: a client
// that does not read its replies stops itself, through HTTP/2 flow control, and
// nobody else. One that leaves attention rows unread is cut off after a while,
// since they take memory that all calls share.
//
// Keeps itself alive until gRPC is done with it; sessions share it until they
// are detached, since their replies come from other threads. Calls into
// sessions are made without the lock, since sessions call Send with theirs.
class StreamCall final
    : public grpc::ServerBidiReactor<::telltale::v1::StreamWindowsRequest,
                                     ::telltale::v1::StreamWindowsResponse>,
      public ReplySink,
      public std::enable_shared_from_this<StreamCall> {
 public:
  static std::shared_ptr<StreamCall> Start(const StreamCallContext& context,
                                           grpc::CallbackServerContext* call);

  // Answers what was accepted, tells every stream that the server is about to
  // stop, and ends the call.
  void Drain();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void Send(StreamReply reply) override;
  void OnProgress() override;

 private:
  struct OpenedStream {
    std::shared_ptr<StreamSession> session;  // shared with its callbacks
    ChannelMap channels;
    const model::ModelDescription* rows_of = nullptr;  // null: no rows wanted
  };
  using Request = ::telltale::v1::StreamWindowsRequest;
  using Response = ::telltale::v1::StreamWindowsResponse;
  using Session = std::shared_ptr<StreamSession>;

  StreamCall(const StreamCallContext& context,
             grpc::CallbackServerContext* call)
      : context_(context), rows_deadline_(call, context.attention_patience) {}

  // On the reading thread, one frame at a time.
  absl::Status CheckFrame() const;
  void TakeFrame();
  absl::Status OpenStream(const ::telltale::v1::OpenStream& open);
  void TakeWindow(const ::telltale::v1::StreamWindow& sent);
  absl::StatusOr<SentWindow> ReadWindow(
      const OpenedStream& stream, const ::telltale::v1::StreamWindow& sent);
  void Reject(const std::string& stream, int64_t sequence,
              const absl::Status& reason);

  void ContinueReading();
  void FinishWhenDone();
  // Makes the next message of the replies the one to write: the attention rows
  // of a window go ahead of its scores. Needs the lock, as the two below.
  void WriteNextLocked();
  // The rows of a window have been written; those of another have their turn.
  void FinishRowsLocked();
  // The client is gone: nothing waits for it any more.
  void DropRepliesLocked();
  std::vector<Session> Sessions() const;
  void DetachSessions();

  const StreamCallContext context_;
  ReadDeadline rows_deadline_;        // runs while rows_waiting_ > 0
  std::shared_ptr<StreamCall> self_;  // until OnDone
  Request request_;
  Response response_;

  mutable std::mutex mutex_;  // guards the members below
  std::map<std::string, OpenedStream, std::less<>> streams_;
  // What the last frame fed, to be looked at before the next is read.
  std::vector<Session> fed_;
  std::deque<StreamReply> replies_;      // bounded by what is read
  std::optional<AttentionBlocks> rows_;  // of the reply in front
  int rows_waiting_ = 0;                 // replies with rows, rows_ included
  bool reading_ = true;
  bool writing_ = false;
  bool half_closed_ = false;
  bool draining_ = false;
  bool gone_ = false;      // the client; nothing can be written
  bool finished_ = false;  // Finish has been called
  absl::Status failure_;   // ends the call
};

}  // namespace telltale::server
