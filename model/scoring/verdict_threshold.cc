#include "model/scoring/verdict_threshold.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "model/scoring/threshold.h"

namespace telltale::model {

namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

// Where the F1 of instants is highest. `verdicts` holds no NaN.
float BestF1(std::vector<LabelledVerdict> verdicts) {
  std::ranges::stable_sort(verdicts, std::ranges::greater{},
                           &LabelledVerdict::logit);
  const auto faults =
      std::ranges::count(verdicts, true, &LabelledVerdict::fault);
  if (faults == 0 || faults == std::ssize(verdicts)) return 0;
  double best = -1;
  float threshold = 0;
  int64_t hits = 0;
  for (size_t i = 0; i + 1 < verdicts.size(); ++i) {
    hits += verdicts[i].fault ? 1 : 0;
    const float above = verdicts[i].logit;
    const float below = verdicts[i + 1].logit;
    if (above == below) continue;  // no threshold lies between
    const double f1 = 2.0 * static_cast<double>(hits) /
                      static_cast<double>(static_cast<int64_t>(i) + 1 + faults);
    if (f1 <= best) continue;
    best = f1;
    threshold = below + (above - below) / 2;
  }
  return threshold;
}

// The logits of instants at least kEventGap away from any fault; NaN for the
// others.
std::vector<float> AwayFromFaults(std::span<const LabelledVerdict> verdicts) {
  constexpr int64_t kNever = -kEventGap;
  std::vector<float> logits;
  const auto count = static_cast<int64_t>(verdicts.size());
  int64_t last = kNever;
  for (int64_t i = 0; i < count; ++i) {
    const LabelledVerdict& verdict = verdicts[static_cast<size_t>(i)];
    if (verdict.fault) {
      last = i;
      for (int64_t k = std::max<int64_t>(0, i - kEventGap + 1); k < i; ++k) {
        logits[static_cast<size_t>(k)] = kUnknown;
      }
    }
    logits.push_back(i - last < kEventGap ? kUnknown : verdict.logit);
  }
  return logits;
}

}  // namespace

float VerdictProbability(float logit) {
  return static_cast<float>(1 / (1 + std::exp(-static_cast<double>(logit))));
}

float VerdictThreshold(std::span<const LabelledVerdict> verdicts,
                       double false_alarms_per_10k) {
  std::vector<LabelledVerdict> known;
  for (const LabelledVerdict& verdict : verdicts) {
    if (!std::isnan(verdict.logit)) known.push_back(verdict);
  }
  const std::vector<float> nominal = AwayFromFaults(verdicts);
  const auto nominal_count = std::ranges::count_if(
      nominal, [](float logit) { return !std::isnan(logit); });
  const float threshold = BestF1(std::move(known));
  const double allowed =
      false_alarms_per_10k * static_cast<double>(nominal_count) / 10'000;
  if (allowed < 1 ||
      static_cast<double>(CountEvents(nominal, threshold)) <= allowed) {
    return threshold;
  }
  return std::max(threshold, ThresholdForBudget(nominal, false_alarms_per_10k));
}

}  // namespace telltale::model
