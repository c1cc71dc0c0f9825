#pragma once

#include <deque>
#include <optional>

#include "model/detector.h"
#include "model/scoring/smoothed_scores.h"

namespace telltale::server {

// Turns a stream's verdicts, given one by one, into verdicts that look up to
// `lag` instants ahead: smoothed scores, with their own threshold.
//
// What an instant has as channel, observed and expected stays its own. An alarm
// that only the smoothed score raises takes the instants pointed back to from
// the nearest alarm within `lag`, as far as they lie before itself, and their
// masking check.
class LaggedVerdicts {
 public:
  // `verdict_threshold`: the model's, if it gives verdicts, which are not
  // smoothed.
  LaggedVerdicts(model::SmoothedScoring scoring, int lag,
                 std::optional<float> verdict_threshold = std::nullopt)
      : scoring_(std::move(scoring)),
        verdict_threshold_(verdict_threshold),
        smoother_(lag) {}

  float threshold() const { return scoring_.threshold; }

  // Takes the next instant's verdict; returns that of the instant `lag` before.
  std::optional<model::InstantScore> Push(const model::InstantScore& score);
  // After the last one: the verdicts still due, one a call.
  std::optional<model::InstantScore> Drain();

 private:
  std::optional<model::InstantScore> Judge(float smoothed);
  void BorrowCauses(size_t from, int distance, model::InstantScore& score);

  const model::SmoothedScoring scoring_;
  const std::optional<float> verdict_threshold_;
  model::ScoreSmoother smoother_;
  std::deque<model::InstantScore> recent_;  // 2 lag + 1 of them at most
  size_t next_ = 0;                         // of recent_: the next to judge
};

}  // namespace telltale::server
