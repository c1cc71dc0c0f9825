#pragma once

#include <span>

#include "absl/status/statusor.h"

#include "model/evaluation/interval.h"

namespace telltale::model {

// Volumes under the precision-recall and the receiver operating surface.
struct Vus {
  double pr = 0;
  double roc = 0;
};

// The areas under range-aware PR and ROC curves, averaged over all widths from
// 0 to `buffer` of the ramps by which each labelled interval is extended
// (Paparrizos et al., PVLDB 2022; the definition that TSB-AD evaluates, with
// 250 thresholds at evenly spaced ranks).
//
// `scores`: one for each instant, higher is more anomalous; instants without a
// score must be given the lowest. Takes O(buffer x instants near labels).
// kInvalidArgument: intervals outside the series, a score that is NaN, a
// negative buffer, or labels that cover no instant or all of them.
absl::StatusOr<Vus> ComputeVus(std::span<const float> scores,
                               std::span<const Interval> labels, int buffer);

}  // namespace telltale::model
