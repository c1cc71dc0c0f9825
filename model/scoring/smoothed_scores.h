#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "model/scoring/tail_curve.h"

namespace telltale::model {

// Scores of a recording, where an instant may be judged by what came a little
// later too.
//
// The smoothed score of an instant is a mean of the scores about it, from
// 4 `lag` instants before to `lag` after, weighted by exp(-2 d / lag) at
// distance d. Where a neighbour has no score, the others weigh more; an
// instant without a score of its own has no smoothed one either. It depends on
// nothing but those neighbours, to the bit.
class ScoreSmoother {
 public:
  static constexpr int kMaxLag = 1000;

  // REQUIRES: 0 <= lag <= kMaxLag. With 0, scores are left as they are.
  explicit ScoreSmoother(int lag);

  int lag() const { return lag_; }

  // Takes the score of the next instant (NaN: none) and returns the smoothed
  // score (NaN: none) of the instant `lag` before it; nothing while there is
  // no such instant. After the last one, `lag` times NaN fetches the rest.
  std::optional<float> Push(float score);

 private:
  float Smoothed(int64_t center) const;

  const int lag_;
  std::vector<float> weights_;  // [4 lag + 1], by distance
  std::vector<float> recent_;   // a ring, as long as weights reach
  int64_t count_ = 0;           // scores pushed
};

// The smoothed scores of a whole series.
std::vector<float> SmoothScores(std::span<const float> scores, int lag);

// What smoothed scores mean: a mean of scores has thinner tails than a score,
// so it is ranked among means again, and gets its own threshold.
struct SmoothedScoring {
  TailCurve tail;       // from a smoothed score to a score
  float threshold = 0;  // of the latter, for the budget

  // From the scores of nominal operation in order of time.
  // kFailedPrecondition: fewer than 20 `lag` of them, too few to tell what
  // nominal means are.
  static absl::StatusOr<SmoothedScoring> Calibrate(
      std::span<const float> nominal_scores, double budget_per_10k, int lag);
};

}  // namespace telltale::model
