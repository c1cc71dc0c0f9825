#include "server/streaming/stream_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

#include "server/storage/payload_hash.h"

namespace telltale::server {
namespace {

// Replies that may wait behind a slow window before the client's next frame
// has to wait as well.
constexpr size_t kMaxWaitingReplies = 8;
// The largest shares tell what happened; a thousand channels would drown it.
constexpr size_t kMaxContributions = 16;

}  // namespace

StreamSession::StreamSession(const SessionContext& context, Options options,
                             std::unique_ptr<StreamRegistry::Lease> lease,
                             std::shared_ptr<ReplySink> sink)
    : context_(context),
      options_(std::move(options)),
      key_(lease->key()),
      stream_number_(context_.scheduler.NewStream()),
      replay_length_(std::max(1, options_.detector->replay_length())),
      sink_(std::move(sink)),
      lease_(std::move(lease)),
      recent_(replay_length_) {}

void StreamSession::Take(SentWindow window) {
  auto sent = std::make_shared<const SentWindow>(std::move(window));
  Later later;
  {
    const std::lock_guard lock(mutex_);
    if (phase_ == Phase::kLoading || phase_ == Phase::kFailed) {
      early_.push_back({sent->sequence, std::move(sent), absl::OkStatus()});
    } else {
      TakeLocked(sent);
    }
    FlushLocked(later);
  }
  RunAll(later);
}

void StreamSession::Refuse(int64_t sequence, const absl::Status& malformed) {
  Later later;
  {
    const std::lock_guard lock(mutex_);
    if (phase_ == Phase::kLoading || phase_ == Phase::kFailed) {
      early_.push_back({sequence, nullptr, malformed});
    } else {
      RejectLocked(sequence, malformed);
    }
    FlushLocked(later);
  }
  RunAll(later);
}

void StreamSession::TakeLocked(
    const std::shared_ptr<const SentWindow>& window) {
  const int64_t sequence = window->sequence;
  if (phase_ == Phase::kClosed) {
    return RejectLocked(sequence, closed_because_);
  }
  if (draining_) {
    return RejectLocked(sequence, absl::UnavailableError(
                                      "the server is about to stop; open the "
                                      "stream again when it is back"));
  }
  if (sequence > next_sequence_) {
    return RejectLocked(
        sequence, absl::FailedPreconditionError(absl::StrFormat(
                      "sequence %d came while %d is waited for; send that "
                      "first",
                      sequence, next_sequence_)));
  }
  if (InFlightLocked() >= kMaxInFlight) {
    return RejectLocked(
        sequence,
        absl::ResourceExhaustedError(absl::StrFormat(
            "%d windows of stream '%s' are unanswered; wait for a reply",
            kMaxInFlight, key_.stream)));
  }
  if (sequence == next_sequence_) return ScoreLocked(window);
  Slot& slot = AddSlotLocked(Slot::Kind::kStored, sequence);
  slot.payload_hash =
      HashPayload(window->window->time_ns(), window->window->samples(),
                  window->reception_time_ns);
}

void StreamSession::ScoreLocked(
    const std::shared_ptr<const SentWindow>& window) {
  const bool with_attention =
      options_.attention_detail == AttentionDetail::kRows;
  std::shared_ptr<const AttentionBudget::Share> share;
  if (with_attention) {
    auto reserved = context_.attention.Reserve(options_.detector->description(),
                                               window->window->length());
    if (!reserved.ok()) {
      return RejectLocked(window->sequence, reserved.status());
    }
    share = *std::move(reserved);
  }
  auto self = shared_from_this();
  const uint64_t ticket = next_ticket_;  // of the slot added below
  auto task = std::make_unique<ScoreTask>(ScoreTask{
      .stream = stream_number_,
      .detector = options_.detector,
      .state = state_.get(),
      .window = window->window,
      .with_attention = with_attention,
      .with_masking = options_.masking_check &&
                      options_.attention_detail != AttentionDetail::kNone,
      .wanted = [self] { return self->Wanted(); },
      .done =
          [self, ticket, window,
           share](absl::StatusOr<model::WindowScore> score) {
            self->OnScored(ticket, window, share, std::move(score));
          },
  });
  const absl::Status submitted = context_.scheduler.Submit(task);
  if (!submitted.ok()) return RejectLocked(window->sequence, submitted);
  AddSlotLocked(Slot::Kind::kScore, window->sequence);
  ++next_sequence_;
}

void StreamSession::RejectLocked(int64_t sequence, const absl::Status& reason) {
  Slot& slot = AddSlotLocked(Slot::Kind::kRejected, sequence);
  slot.finished = true;
  slot.reply.content = WindowRejected{
      .sequence = sequence,
      .reason = reason,
      .expected_sequence = phase_ == Phase::kClosed ? 0 : next_sequence_};
}

bool StreamSession::Wanted() const {
  const std::lock_guard lock(mutex_);
  return sink_ != nullptr && phase_ == Phase::kOpen;
}

void StreamSession::OnScored(
    uint64_t ticket, const std::shared_ptr<const SentWindow>& sent,
    std::shared_ptr<const AttentionBudget::Share> share,
    absl::StatusOr<model::WindowScore> score) {
  std::optional<WindowRecord> record;
  Later later;
  {
    const PayloadHash hash =
        HashPayload(sent->window->time_ns(), sent->window->samples(),
                    sent->reception_time_ns);
    const std::lock_guard lock(mutex_);
    Slot& slot = *FindLocked(ticket);
    if (score.ok() && phase_ == Phase::kOpen) {
      record = KeepLocked(*sent, *score);
      record->payload_hash = hash;
      DropUnwanted(*score);
      slot.reply.content = WindowScored{.sequence = sent->sequence,
                                        .score = std::move(*score),
                                        .threshold = record->threshold,
                                        .duplicate = false,
                                        .model = options_.model,
                                        .attention_share = std::move(share)};
    } else {
      FailLocked(slot, score.status());
    }
    FlushLocked(later);
  }
  RunAll(later);
  if (!record) return;
  context_.store.Append(std::move(*record), [self = shared_from_this(), ticket](
                                                const absl::Status& status) {
    self->OnStored(ticket, status);
  });
}

// Notes what the state has advanced over and completes the verdicts: instants
// that came late have none from the detector.
WindowRecord StreamSession::KeepLocked(const SentWindow& sent,
                                       model::WindowScore& score) {
  const std::span<const int64_t> time_ns = sent.window->time_ns();
  const std::span<const float> samples = sent.window->samples();
  std::vector<model::InstantScore> late;
  size_t known = 0;
  while (known < time_ns.size() && last_time_ns_ &&
         time_ns[known] <= *last_time_ns_) {
    if (!recent_.Contains(time_ns[known])) {
      model::InstantScore& instant = late.emplace_back();
      instant.time_ns = time_ns[known];
      instant.state = model::InstantState::kLate;
    }
    ++known;
  }
  score.instants.insert(score.instants.begin(), late.begin(), late.end());
  for (model::InstantScore& instant : score.instants) {
    if (instant.contributions.size() > kMaxContributions) {
      instant.contributions.resize(kMaxContributions);
    }
  }
  const int64_t count = state_->instant_count();
  WindowRecord record{
      .key = key_,
      .epoch = options_.epoch,
      .sequence = sent.sequence,
      .model = options_.model,
      .threshold = options_.detector->description().threshold,
      .stored_ns = context_.clock.WallTimeNs(),
      .first_instant = instant_count_,
      .added_instants = static_cast<int32_t>(count - instant_count_),
      .time_ns = {time_ns.begin(), time_ns.end()},
      .samples = {samples.begin(), samples.end()},
      .reception_time_ns = sent.reception_time_ns,
      .instants = score.instants};
  recent_.Add(time_ns.subspan(known));
  if (known < time_ns.size()) last_time_ns_ = time_ns.back();
  instant_count_ = count;
  return record;
}

void StreamSession::DropUnwanted(model::WindowScore& score) const {
  if (options_.attention_detail != AttentionDetail::kNone) return;
  for (model::InstantScore& instant : score.instants) {
    instant.points_back_to.clear();
    instant.masking.reset();
  }
}

void StreamSession::OnStored(uint64_t ticket, const absl::Status& status) {
  Later later;
  {
    const std::lock_guard lock(mutex_);
    Slot& slot = *FindLocked(ticket);
    if (status.ok()) {
      slot.finished = true;
      // An archive may report out of order, but it stores in order.
      durable_sequence_ = std::max(durable_sequence_, slot.sequence);
    } else {
      FailLocked(slot, status);
    }
    FlushLocked(later);
  }
  RunAll(later);
}

void StreamSession::FailLocked(Slot& slot, const absl::Status& reason) {
  if (phase_ == Phase::kOpen) {
    phase_ = Phase::kFailed;
    next_sequence_ = slot.sequence;
  }
  const bool itself = slot.sequence == next_sequence_ && !reason.ok();
  slot.finished = true;
  slot.reply.content = WindowRejected{
      .sequence = slot.sequence,
      .reason = itself ? reason
                       : absl::FailedPreconditionError(absl::StrFormat(
                             "window %d before it failed; send that first",
                             next_sequence_)),
      .expected_sequence = next_sequence_};
}

void StreamSession::Drain() {
  Later later;
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
    FlushLocked(later);
  }
  RunAll(later);
}

void StreamSession::Detach() {
  std::shared_ptr<ReplySink> sink;  // let go of without the lock
  const std::lock_guard lock(mutex_);
  sink.swap(sink_);
  early_.clear();
}

bool StreamSession::idle() const {
  const std::lock_guard lock(mutex_);
  return IdleLocked();
}

bool StreamSession::drained() const {
  const std::lock_guard lock(mutex_);
  return drained_;
}

bool StreamSession::congested() const {
  const std::lock_guard lock(mutex_);
  return phase_ == Phase::kLoading || phase_ == Phase::kFailed ||
         slots_.size() >= kMaxWaitingReplies;
}

bool StreamSession::IdleLocked() const {
  return (phase_ == Phase::kOpen || phase_ == Phase::kClosed) &&
         slots_.empty() && early_.empty();
}

int StreamSession::InFlightLocked() const {
  return static_cast<int>(std::count_if(
      slots_.begin(), slots_.end(),
      [](const Slot& slot) { return slot.kind != Slot::Kind::kRejected; }));
}

StreamSession::Slot* StreamSession::FindLocked(uint64_t ticket) {
  const auto found = std::find_if(
      slots_.begin(), slots_.end(),
      [ticket](const Slot& slot) { return slot.ticket == ticket; });
  return found == slots_.end() ? nullptr : &*found;
}

StreamSession::Slot& StreamSession::AddSlotLocked(Slot::Kind kind,
                                                  int64_t sequence) {
  Slot& slot = slots_.emplace_back();
  slot.ticket = next_ticket_++;
  slot.kind = kind;
  slot.sequence = sequence;
  slot.reply.stream = key_.stream;
  return slot;
}

void StreamSession::SendLocked(StreamReply reply) {
  if (sink_ != nullptr) sink_->Send(std::move(reply));
}

void StreamSession::FlushLocked(Later& later) {
  while (announced_ && !slots_.empty() && slots_.front().finished) {
    SendLocked(std::move(slots_.front().reply));
    slots_.pop_front();
  }
  if (announced_ && !slots_.empty()) LookUpLocked(slots_.front(), later);
  if (phase_ == Phase::kFailed && !ScoringLocked()) {
    // Nobody needs the stream any more: nothing is begun for it.
    if (sink_ == nullptr) {
      phase_ = Phase::kClosed;
    } else {
      LoadLocked(later);
    }
  }
  if (draining_ && !drained_ && IdleLocked()) {
    drained_ = true;
    if (phase_ == Phase::kOpen) {
      SendLocked({.stream = key_.stream,
                  .content = StreamDraining{durable_sequence_ + 1}});
    }
  }
  if (sink_ != nullptr) later.push_back([sink = sink_] { sink->OnProgress(); });
}

bool StreamSession::ScoringLocked() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return slot.kind == Slot::Kind::kScore && !slot.finished;
  });
}

void StreamSession::RunAll(const Later& later) {
  for (const std::function<void()>& call : later) call();
}

}  // namespace telltale::server
