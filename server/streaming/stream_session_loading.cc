// What a session gets from the archive: what its stream was, at the opening and
// after a failure, and the answers to windows that come again.

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

#include "server/streaming/stream_session.h"

namespace telltale::server {
namespace {

bool SameChannels(const data::ChannelSet& a, const data::ChannelSet& b) {
  return std::equal(a.channels().begin(), a.channels().end(),
                    b.channels().begin(), b.channels().end(),
                    [](const data::Channel& x, const data::Channel& y) {
                      return x.name == y.name && x.unit == y.unit;
                    });
}

}  // namespace

void StreamSession::Open() {
  Later later;
  {
    const std::lock_guard lock(mutex_);
    LoadLocked(later);
  }
  RunAll(later);
}

void StreamSession::LoadLocked(Later& later) {
  phase_ = Phase::kLoading;
  later.push_back([self = shared_from_this()] {
    self->context_.store.FindTail(
        {.key = self->key_, .instants = self->replay_length_},
        [self](const absl::StatusOr<StreamTail>& tail) { self->OnTail(tail); });
  });
}

void StreamSession::OnTail(const absl::StatusOr<StreamTail>& tail) {
  Later later;
  {
    const std::lock_guard lock(mutex_);
    absl::Status status = absl::CancelledError("the client is gone");
    if (sink_ != nullptr) status = AdoptTailLocked(tail);
    if (!status.ok()) CloseLocked(status);
    FlushLocked(later);
  }
  RunAll(later);
}

absl::Status StreamSession::AdoptTailLocked(
    const absl::StatusOr<StreamTail>& tail) {
  const bool nothing_stored = absl::IsNotFound(tail.status());
  if (!tail.ok() && !nothing_stored) return tail.status();
  recent_ = RecentInstants(replay_length_);
  last_time_ns_.reset();
  if (nothing_stored || tail->epoch < options_.epoch) {
    durable_sequence_ = 0;
    instant_count_ = 0;
    state_ = options_.detector->NewStream(0);
    FinishLoadingLocked();
    return absl::OkStatus();
  }
  if (tail->epoch > options_.epoch) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "epoch %d of stream '%s' has passed: epoch %d is stored; open that one "
        "or a higher one",
        options_.epoch, key_.stream, tail->epoch));
  }
  if (!SameChannels(tail->windows.back().model->channels,
                    options_.model->channels)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "epoch %d of stream '%s' was begun with model '%s', whose channels "
        "differ from those of model '%s'; open a higher epoch",
        options_.epoch, key_.stream, tail->windows.back().model->name,
        options_.model->name));
  }
  absl::StatusOr<Replay> replay = ReplayOf(*tail, replay_length_);
  if (!replay.ok()) return replay.status();
  durable_sequence_ = tail->last_sequence;
  instant_count_ = tail->instant_count;
  return StartReplayLocked(std::move(*replay));
}

absl::Status StreamSession::StartReplayLocked(Replay replay) {
  state_ = options_.detector->NewStream(replay.first_instant);
  if (!replay.window) {
    FinishLoadingLocked();
    return absl::OkStatus();
  }
  auto window = std::make_shared<const data::Window>(std::move(*replay.window));
  recent_.Add(window->time_ns());
  last_time_ns_ = window->time_ns().back();
  auto task = std::make_unique<ScoreTask>(ScoreTask{
      .stream = stream_number_,
      .detector = options_.detector,
      .state = state_.get(),
      .window = std::move(window),
      .with_attention = false,
      .wanted = nullptr,
      .done =
          [self = shared_from_this()](
              const absl::StatusOr<model::WindowScore>& score) {
            self->OnReplayed(score.status());
          },
  });
  return context_.scheduler.Submit(task);
}

void StreamSession::OnReplayed(const absl::Status& status) {
  Later later;
  {
    const std::lock_guard lock(mutex_);
    if (status.ok()) {
      FinishLoadingLocked();
    } else {
      CloseLocked(status);
    }
    FlushLocked(later);
  }
  RunAll(later);
}

void StreamSession::FinishLoadingLocked() {
  phase_ = Phase::kOpen;
  next_sequence_ = durable_sequence_ + 1;
  if (!announced_) {
    announced_ = true;
    SendLocked({.stream = key_.stream,
                .content = StreamOpened{.resume_from = next_sequence_,
                                        .epoch = options_.epoch,
                                        .model = options_.model,
                                        .last_time_ns = last_time_ns_}});
  }
  std::deque<Early> early;
  early.swap(early_);
  for (const Early& item : early) {
    if (item.window != nullptr) {
      TakeLocked(item.window);
    } else {
      RejectLocked(item.sequence, item.malformed);
    }
  }
}

void StreamSession::CloseLocked(const absl::Status& reason) {
  phase_ = Phase::kClosed;
  closed_.store(true);
  lease_.reset();  // nothing of this stream is on the way
  closed_because_ = absl::FailedPreconditionError(
      absl::StrFormat("stream '%s' is not open: %s; open it again", key_.stream,
                      reason.message()));
  if (!announced_) {
    announced_ = true;
    SendLocked({.stream = key_.stream,
                .content = WindowRejected{.sequence = 0, .reason = reason}});
  }
  for (const Early& item : early_) {
    RejectLocked(item.sequence, closed_because_);
  }
  early_.clear();
}

void StreamSession::LookUpLocked(Slot& slot, Later& later) {
  if (slot.kind != Slot::Kind::kStored || slot.started) return;
  slot.started = true;
  later.push_back([self = shared_from_this(), ticket = slot.ticket,
                   sequence = slot.sequence] {
    self->context_.store.FindWindow(
        self->key_, self->options_.epoch, sequence,
        [self, ticket](const absl::StatusOr<WindowRecord>& record) {
          self->OnFound(ticket, record);
        });
  });
}

void StreamSession::OnFound(uint64_t ticket,
                            const absl::StatusOr<WindowRecord>& record) {
  Later later;
  {
    const std::lock_guard lock(mutex_);
    Slot& slot = *FindLocked(ticket);
    slot.finished = true;
    if (record.ok() && record->payload_hash == slot.payload_hash) {
      model::WindowScore score{.instants = record->instants, .attention = {}};
      DropUnwanted(score);
      slot.reply.content = WindowScored{.sequence = slot.sequence,
                                        .score = std::move(score),
                                        .threshold = record->threshold,
                                        .duplicate = true,
                                        .model = record->model,
                                        .attention_share = nullptr};
    } else {
      absl::Status reason = record.status();
      if (record.ok()) {
        reason = absl::AlreadyExistsError(absl::StrFormat(
            "sequence %d of epoch %d was stored with other content; each "
            "window needs a number of its own",
            slot.sequence, options_.epoch));
      } else if (absl::IsNotFound(reason)) {
        reason = absl::FailedPreconditionError(absl::StrFormat(
            "sequence %d has not been stored; send it again", slot.sequence));
      }
      slot.reply.content = WindowRejected{.sequence = slot.sequence,
                                          .reason = reason,
                                          .expected_sequence = next_sequence_};
    }
    FlushLocked(later);
  }
  RunAll(later);
}

}  // namespace telltale::server
