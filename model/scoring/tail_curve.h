#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace telltale::model {

// The tail probability of a statistic under nominal operation, as
// -log10 P(V > v): empirical quantiles as far out as there are values enough,
// a generalized Pareto tail above (Pickands 1975), which never ends, so that a
// value far beyond anything seen still has its rank.
//
// Values that follow one another are alike, and some statistics more so than
// others: a moving average stays high for long, where a single sample comes and
// goes. What an operator sees is events, so a curve can count these instead: an
// extreme that comes in clusters is as rare as the clusters (the extremal
// index, Leadbetter 1983).
class TailCurve {
 public:
  static constexpr int kQuantiles = 64;
  // Floats that describe a curve: quantiles, shape and scale of the tail, the
  // decades down to where it begins, and those by which events are rarer.
  static constexpr int kSize = kQuantiles + 4;

  // A curve that is 0 everywhere: nothing is known, so nothing surprises.
  TailCurve();

  // Fits a curve. `values` are nominal values of the statistic, in any order,
  // and are reordered; `floor` bounds the tail's scale from below, so that a
  // statistic that never moved in training is not infinitely surprising. No
  // values give a curve that is 0 everywhere.
  static TailCurve Fit(std::span<float> values, float floor);

  // The same, counting events. `values` are in order of time; NaN: none.
  static TailCurve FitEvents(std::span<const float> values, float floor);

  // kSize floats as returned by values(). kInvalidArgument: not finite or
  // falling quantiles, or a tail that is not one.
  static absl::Status Check(std::span<const float> values);
  static TailCurve FromValues(std::span<const float> values);

  // -log10 P(V > v), or of the rate of events above v: 0 or more, rising with
  // v, finite for every finite v.
  float Evidence(float v) const;

  const std::vector<float>& values() const { return values_; }

 private:
  float tail_start() const { return values_[kQuantiles - 1]; }
  double Decades(float v) const;

  std::vector<float> values_;
};

}  // namespace telltale::model
