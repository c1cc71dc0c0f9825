#pragma once

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "model/evaluation/interval.h"

namespace telltale::model {

// How well scores rank labelled instants above the others, each instant on its
// own.
struct Ranking {
  // Average precision: the sum over distinct scores, from the top, of the
  // recall gained times the precision there.
  double auc_pr = 0;
  // The probability that a labelled instant outscores one that is not, ties
  // counting half (Mann and Whitney).
  double auc_roc = 0;
};

// kInvalidArgument when `scores` cannot be ranked against `labels`: intervals
// outside the series, a score that is NaN, or labels that cover no instant or
// all of them.
absl::Status CheckRankable(std::span<const float> scores,
                           std::span<const Interval> labels);

// Fails as CheckRankable does.
absl::StatusOr<Ranking> ComputeRanking(std::span<const float> scores,
                                       std::span<const Interval> labels);

// Indices of the scores, highest first; equal ones in order of time.
std::vector<int> OrderOf(std::span<const float> scores);

}  // namespace telltale::model
