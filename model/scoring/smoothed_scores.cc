#include "model/scoring/smoothed_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"

#include "model/scoring/threshold.h"

namespace telltale::model {
namespace {

// Instants before, for each one after.
constexpr int kBack = 4;

// Nominal scores needed for each instant of lag.
constexpr int64_t kScoresPerLag = 20;

// The least scale of the tail of means, in decades.
constexpr float kTailFloor = 0.01F;

}  // namespace

ScoreSmoother::ScoreSmoother(int lag) : lag_(lag) {
  for (int d = 0; d <= kBack * lag; ++d) {
    const double distance = 2.0 * d / std::max(1, lag);
    weights_.push_back(static_cast<float>(std::exp(-distance)));
  }
  recent_.assign(weights_.size() + lag, 0);
}

std::optional<float> ScoreSmoother::Push(float score) {
  recent_[static_cast<size_t>(count_) % recent_.size()] = score;
  const int64_t center = count_++ - lag_;
  if (center < 0) return std::nullopt;
  return Smoothed(center);
}

float ScoreSmoother::Smoothed(int64_t center) const {
  const auto at = [this](int64_t i) {
    return recent_[static_cast<size_t>(i) % recent_.size()];
  };
  if (lag_ == 0 || std::isnan(at(center))) return at(center);
  double sum = 0;
  double total = 0;
  const int64_t first = std::max<int64_t>(0, center - int64_t{kBack} * lag_);
  for (int64_t i = first; i <= center + lag_; ++i) {
    const float score = at(i);
    if (std::isnan(score)) continue;
    const double weight = weights_[static_cast<size_t>(std::abs(i - center))];
    sum += weight * score;
    total += weight;
  }
  return static_cast<float>(sum / total);
}

std::vector<float> SmoothScores(std::span<const float> scores, int lag) {
  ScoreSmoother smoother(lag);
  std::vector<float> smoothed;
  smoothed.reserve(scores.size());
  const size_t total = scores.size() + static_cast<size_t>(lag);
  for (size_t i = 0; i < total; ++i) {
    const auto next = smoother.Push(
        i < scores.size() ? scores[i]
                          : std::numeric_limits<float>::quiet_NaN());
    if (next) smoothed.push_back(*next);
  }
  return smoothed;
}

absl::StatusOr<SmoothedScoring> SmoothedScoring::Calibrate(
    std::span<const float> nominal_scores, double budget_per_10k, int lag) {
  const auto count = static_cast<int64_t>(nominal_scores.size());
  if (count < std::max<int64_t>(1, kScoresPerLag * lag)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "a lag of %d needs %d nominal scores to be calibrated on, and the "
        "model keeps %d; take a lag of at most %d, or train on more telemetry",
        lag, kScoresPerLag * lag, count, count / kScoresPerLag));
  }
  const std::vector<float> smoothed = SmoothScores(nominal_scores, lag);
  SmoothedScoring scoring;
  std::vector<float> sorted = smoothed;
  std::erase_if(sorted, [](float x) { return std::isnan(x); });
  scoring.tail = TailCurve::Fit(sorted, kTailFloor);
  std::vector<float> scores(smoothed.size());
  std::ranges::transform(smoothed, scores.begin(), [&](float x) {
    return std::isnan(x) ? x : scoring.tail.Evidence(x);
  });
  scoring.threshold = ThresholdForBudget(scores, budget_per_10k);
  return scoring;
}

}  // namespace telltale::model
