#include "model/evaluation/ranking.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_format.h"

namespace telltale::model {

absl::Status CheckRankable(std::span<const float> scores,
                           std::span<const Interval> labels) {
  const int length = static_cast<int>(scores.size());
  if (absl::Status status = CheckIntervals(labels, length); !status.ok()) {
    return status;
  }
  const auto nan = std::ranges::find_if(
      scores, [](float score) { return std::isnan(score); });
  if (nan != scores.end()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the score of instant %d is not a number", nan - scores.begin()));
  }
  const Mask mask = MaskOf(labels, length);
  const auto labelled = std::ranges::count(mask, uint8_t{1});
  if (labelled == 0 || labelled == length) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the labels cover %d of %d instants; a ranking needs some of either",
        labelled, length));
  }
  return absl::OkStatus();
}

absl::StatusOr<Ranking> ComputeRanking(std::span<const float> scores,
                                       std::span<const Interval> labels) {
  if (absl::Status status = CheckRankable(scores, labels); !status.ok()) {
    return status;
  }
  const int length = static_cast<int>(scores.size());
  const Mask mask = MaskOf(labels, length);
  const std::vector<int> order = OrderOf(scores);
  const double positives =
      static_cast<double>(std::ranges::count(mask, uint8_t{1}));
  const double negatives = length - positives;

  Ranking ranking;
  double above_true = 0;   // labelled instants down to and with this score
  double above_false = 0;  // the others
  for (int begin = 0; begin < length;) {
    double tied_true = 0;
    double tied_false = 0;
    int end = begin;
    while (end < length && scores[order[end]] == scores[order[begin]]) {
      (mask[order[end]] != 0 ? tied_true : tied_false) += 1;
      ++end;
    }
    ranking.auc_roc += tied_false * (above_true + tied_true / 2);
    above_true += tied_true;
    above_false += tied_false;
    ranking.auc_pr +=
        tied_true / positives * above_true / (above_true + above_false);
    begin = end;
  }
  ranking.auc_roc /= positives * negatives;
  return ranking;
}

std::vector<int> OrderOf(std::span<const float> scores) {
  std::vector<int> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(
      order, [scores](int a, int b) { return scores[a] > scores[b]; });
  return order;
}

}  // namespace telltale::model
