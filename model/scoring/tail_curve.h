#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace telltale::model {

// The tail probability of a statistic under nominal operation, as
// -log10 P(V > v): empirical quantiles up to the 98 % quantile, a generalized
// Pareto tail above (Pickands 1975), which never ends, so that a value far
// beyond anything seen still has its rank.
class TailCurve {
 public:
  static constexpr int kQuantiles = 64;
  // Floats that describe a curve: quantiles, then shape and scale of the tail.
  static constexpr int kSize = kQuantiles + 2;

  // A curve that is 0 everywhere: nothing is known, so nothing surprises.
  TailCurve();

  // Fits a curve. `values` are nominal values of the statistic, in any order,
  // and are reordered; `floor` bounds the tail's scale from below, so that a
  // statistic that never moved in training is not infinitely surprising. No
  // values give a curve that is 0 everywhere.
  static TailCurve Fit(std::span<float> values, float floor);

  // kSize floats as returned by values(). kInvalidArgument: not finite or
  // falling quantiles, or a tail that is not one.
  static absl::Status Check(std::span<const float> values);
  static TailCurve FromValues(std::span<const float> values);

  // -log10 P(V > v): 0 or more, rising with v, finite for every finite v.
  float Evidence(float v) const;

  const std::vector<float>& values() const { return values_; }

 private:
  std::vector<float> values_;
};

}  // namespace telltale::model
