#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "data/window.h"
#include "model/detector.h"
#include "server/scheduling/batch_scheduler.h"
#include "server/scheduling/clock.h"
#include "server/storage/score_store.h"
#include "server/streaming/attention_budget.h"
#include "server/streaming/stream_history.h"
#include "server/streaming/stream_registry.h"
#include "server/streaming/stream_reply.h"

namespace telltale::server {

// How much a client wants to know about what anomalies rest on.
enum class AttentionDetail {
  kNone,
  kPeaks,  // the instants pointed back to
  kRows,   // and the attention rows of all instants
};

// What sessions work with. All must outlive them.
struct SessionContext {
  BatchScheduler& scheduler;
  ScoreStore& store;
  Clock& clock;
  AttentionBudget& attention;
};

// A window as a client sent it, its columns in the model's order.
struct SentWindow {
  int64_t sequence = 0;
  std::shared_ptr<const data::Window> window;  // shared with the scoring task
  std::vector<int64_t> reception_time_ns;      // [length] or empty
};

// The life of one open stream, from the client's `open` to its last reply.
//
// A window passes through: accepted (its sequence number is next), scored (on a
// scheduler's thread), stored (on the store's), answered. Up to kMaxInFlight
// may be on the way at once; each has a place in a queue, and replies leave
// from its front, so they keep the order. A window whose number has been
// accepted before waits until it is at the front and is then answered from the
// archive.
//
// When a window fails on the way, it and those behind it are rejected, and the
// stream is rebuilt from the archive: what has been stored is the only truth.
//
// Shared by the call that the stream belongs to and by the callbacks of its
// windows on their way, so that a client may vanish at any moment; the stream
// is free for the next client when the last of them lets go. Thread-safe.
class StreamSession : public std::enable_shared_from_this<StreamSession> {
 public:
  static constexpr int kMaxInFlight = 4;

  struct Options {
    int64_t epoch = 0;
    const model::Detector* detector = nullptr;  // outlives the session
    std::shared_ptr<const ModelLabel> model;    // of that detector
    AttentionDetail attention_detail = AttentionDetail::kPeaks;
    bool masking_check = false;  // of anomalies, unless kNone
  };

  StreamSession(const SessionContext& context, Options options,
                std::unique_ptr<StreamRegistry::Lease> lease,
                std::shared_ptr<ReplySink> sink);

  StreamSession(const StreamSession&) = delete;
  StreamSession& operator=(const StreamSession&) = delete;

  // Looks up what is stored, rebuilds the state and replies `opened` or
  // `rejected`. Call once.
  void Open();

  // Takes a window, or `malformed`, the reason why it could not be read. Leads
  // to exactly one reply with its sequence number.
  void Take(SentWindow window);
  void Refuse(int64_t sequence, const absl::Status& malformed);

  // Refuses further windows; replies `draining` when those accepted have been
  // answered.
  void Drain();

  // The client is gone: no more replies. Windows that are not being scored yet
  // are dropped; the others are still stored.
  void Detach();

  // Nothing is in work.
  bool idle() const;
  // Idle after Drain, with nothing more to say.
  bool drained() const;
  // It would rather not be given more: it is loading, or replies pile up behind
  // a slow window. What is given all the same is refused in its turn.
  bool congested() const;
  // The opening failed, or the stream could not be rebuilt: it takes no more
  // windows.
  // Takes no lock, so that the call may ask while it holds its own.
  bool closed() const { return closed_.load(); }

 private:
  enum class Phase {
    kLoading,  // from the archive
    kOpen,
    kFailed,  // to be loaded again once nothing is on the way
    kClosed,
  };

  // A window's place in the queue of replies.
  struct Slot {
    enum class Kind { kScore, kStored, kRejected };

    uint64_t ticket = 0;
    Kind kind = Kind::kRejected;
    int64_t sequence = 0;
    PayloadHash payload_hash{};  // kStored
    bool started = false;        // kStored: the archive has been asked
    bool finished = false;
    StreamReply reply;
  };
  // What came while the stream was loading.
  struct Early {
    int64_t sequence = 0;
    std::shared_ptr<const SentWindow> window;  // null: malformed
    absl::Status malformed;
  };
  // Calls to make once the lock is released.
  using Later = std::vector<std::function<void()>>;

  // Those with `Locked` in the name need the lock.
  void LoadLocked(Later& later);
  void OnTail(const absl::StatusOr<StreamTail>& tail);
  absl::Status AdoptTailLocked(const absl::StatusOr<StreamTail>& tail);
  absl::Status StartReplayLocked(Replay replay);
  void OnReplayed(const absl::Status& status);
  void FinishLoadingLocked();
  void CloseLocked(const absl::Status& reason);

  void TakeLocked(const std::shared_ptr<const SentWindow>& window);
  void ScoreLocked(const std::shared_ptr<const SentWindow>& window);
  void RejectLocked(int64_t sequence, const absl::Status& reason);
  bool Wanted() const;
  void OnScored(uint64_t ticket, const std::shared_ptr<const SentWindow>& sent,
                std::shared_ptr<const AttentionBudget::Share> share,
                absl::StatusOr<model::WindowScore> score);
  WindowRecord KeepLocked(const SentWindow& sent, model::WindowScore& score);
  // Takes out of a reply what the client does not want.
  void DropUnwanted(model::WindowScore& score) const;
  void OnStored(uint64_t ticket, const absl::Status& status);
  void OnFound(uint64_t ticket, const absl::StatusOr<WindowRecord>& record);
  void FailLocked(Slot& slot, const absl::Status& reason);

  // Sends what is finished at the front, and sees to what comes next.
  void FlushLocked(Later& later);
  // Asks the archive for a window that has been answered before.
  void LookUpLocked(Slot& slot, Later& later);
  // A window is being scored or stored.
  bool ScoringLocked() const;
  void SendLocked(StreamReply reply);
  bool IdleLocked() const;
  int InFlightLocked() const;
  Slot* FindLocked(uint64_t ticket);
  Slot& AddSlotLocked(Slot::Kind kind, int64_t sequence);
  static void RunAll(const Later& later);

  const SessionContext context_;
  const Options options_;
  const StreamKey key_;
  const uint64_t stream_number_;
  const int64_t replay_length_;

  std::atomic<bool> closed_{false};  // phase_ is kClosed

  mutable std::mutex mutex_;                      // guards the members below
  std::shared_ptr<ReplySink> sink_;               // null once detached
  std::unique_ptr<StreamRegistry::Lease> lease_;  // null once closed
  Phase phase_ = Phase::kLoading;
  bool announced_ = false;  // the reply to `open` has been sent
  bool draining_ = false;
  bool drained_ = false;  // the reply to Drain has been sent
  absl::Status closed_because_;
  int64_t next_sequence_ = 1;     // to be accepted
  int64_t durable_sequence_ = 0;  // the last one stored
  // Advanced by the scheduler's tasks, one at a time; replaced only while none
  // is on the way.
  std::unique_ptr<model::StreamState> state_;
  int64_t instant_count_ = 0;
  std::optional<int64_t> last_time_ns_;
  RecentInstants recent_;
  std::deque<Slot> slots_;
  std::deque<Early> early_;
  uint64_t next_ticket_ = 1;
};

}  // namespace telltale::server
