#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/status.h"

#include "model/detector.h"
#include "server/storage/score_store.h"
#include "server/streaming/attention_budget.h"

namespace telltale::server {

// The stream is open.
struct StreamOpened {
  int64_t resume_from = 1;
  int64_t epoch = 0;
  std::shared_ptr<const ModelLabel> model;
  std::optional<int64_t> last_time_ns;
};

// A window has been scored and is durable.
struct WindowScored {
  int64_t sequence = 0;
  model::WindowScore score;
  float threshold = 0;
  bool duplicate = false;  // stored before; the scores are those given then
  std::shared_ptr<const ModelLabel> model;
  // The memory of score.attention; null without. Shared by copies of the reply.
  std::shared_ptr<const AttentionBudget::Share> attention_share;
};

// A window, or the opening (sequence 0), has been refused.
struct WindowRejected {
  int64_t sequence = 0;
  absl::Status reason;
  int64_t expected_sequence = 0;  // 0: the stream is not open
};

// No window is accepted any more; those accepted have been answered.
struct StreamDraining {
  int64_t resume_from = 1;
};

// One answer about one stream.
struct StreamReply {
  std::string stream;
  std::variant<StreamOpened, WindowScored, WindowRejected, StreamDraining>
      content;
};

// Where a session's replies go. Shared with the session until it detaches,
// since a reply may be on its way while the call ends.
class ReplySink {
 public:
  virtual ~ReplySink() = default;

  // Called from any thread, one at a time, with the session's lock held: must
  // neither block nor call the session back.
  virtual void Send(StreamReply reply) = 0;
  // The session may have become idle or able to take more. Called from any
  // thread, without locks.
  virtual void OnProgress() = 0;
};

}  // namespace telltale::server
