#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/checkpoint/checkpoint.h"
#include "model/matrix.h"
#include "model/scoring/slow_means.h"

namespace telltale::model {

// Scores of a recording, where an instant may be judged by what came a little
// later too: its slow views are means that look ahead. A lagged score depends
// on SlowMeans::kTaps instants before and `lag` after, to the bit.
class LaggedScores {
 public:
  static constexpr int kMaxLag = LaggedMeans::kLargestLag;

  // Views the checkpoint. REQUIRES: 1 <= lag <= kMaxLag.
  LaggedScores(const Checkpoint& checkpoint, int lag);

  int lag() const { return lag_; }
  float threshold() const { return checkpoint_.lagged_threshold.threshold; }

  // Takes InstantScore::views of the next instant (empty: it has none) and
  // returns the score of the instant `lag` before (NaN: it had none); nothing
  // while there is no such instant. After the last one, `lag` times Drain
  // fetches the rest.
  std::optional<float> Push(std::span<const float> views);
  std::optional<float> Drain();

 private:
  float Score(int64_t row);
  void Forget();

  const Checkpoint& checkpoint_;
  const int lag_;
  const LaggedMeans means_;
  size_t targets_;
  // Of instants not forgotten: the latest stand last.
  Matrix fast_;        // [rows, T]
  Matrix magnitudes_;  // [rows, kSlowViews * T]
  std::vector<bool> known_;
  int64_t rows_ = 0;
  int64_t next_ = 0;                    // the row whose score is due
  std::vector<float> slow_, evidence_;  // scratch
};

}  // namespace telltale::model
