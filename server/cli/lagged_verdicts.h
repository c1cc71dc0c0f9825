#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "model/checkpoint/checkpoint.h"
#include "model/detector.h"
#include "model/scoring/lagged_scores.h"

namespace telltale::server {

// Turns a stream's verdicts, given one by one with their views, into verdicts
// that look up to `lag` instants ahead: lagged scores, with their own
// threshold.
//
// What an instant has as channel, observed and expected stays its own. An alarm
// that only the lagged score raises takes the instants pointed back to from
// the nearest alarm within `lag`, as far as they lie before itself, and their
// masking check.
class LaggedVerdicts {
 public:
  // `verdict_threshold`: the model's, if it gives verdicts, which do not look
  // ahead.
  LaggedVerdicts(std::shared_ptr<const model::Checkpoint> checkpoint, int lag,
                 std::optional<float> verdict_threshold = std::nullopt)
      : checkpoint_(std::move(checkpoint)),
        verdict_threshold_(verdict_threshold),
        scores_(*checkpoint_, lag) {}

  float threshold() const { return scores_.threshold(); }

  // Takes the next instant's verdict; returns that of the instant `lag` before.
  std::optional<model::InstantScore> Push(const model::InstantScore& score);
  // After the last one: the verdicts still due, one a call.
  std::optional<model::InstantScore> Drain();

 private:
  std::optional<model::InstantScore> Judge(float lagged);
  void BorrowCauses(size_t from, int distance, model::InstantScore& score);

  std::shared_ptr<const model::Checkpoint> checkpoint_;
  const std::optional<float> verdict_threshold_;
  model::LaggedScores scores_;
  std::deque<model::InstantScore> recent_;  // 2 lag + 1 of them at most
  size_t next_ = 0;                         // of recent_: the next to judge
};

}  // namespace telltale::server
