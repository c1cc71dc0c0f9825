#pragma once

#include <cstdint>
#include <span>

namespace telltale::model {

// Alarms closer than this many instants are one event.
inline constexpr int64_t kEventGap = 20;

// Events of scores above `threshold`. NaN is no alarm.
int64_t CountEvents(std::span<const float> scores, float threshold);

// The lowest threshold at which the events, and one and a half standard
// deviations of their count on top, keep within the budget: held-out telemetry
// is a sample, and a threshold set to its mean would break the budget on half
// of all days.
//
// It is searched from the highest score down: further down alarms run into
// each other, and their number falls again for the wrong reason. Where the
// budget allows less than one event in so few scores, the threshold lies above
// all of them, by the decades that the scores, being -log10 of a probability,
// say are missing.
float ThresholdForBudget(std::span<const float> scores, double budget_per_10k);

// The 95 % interval of the mean of a Poisson count (Garwood 1936).
struct CountInterval {
  double low = 0, high = 0;
};
CountInterval PoissonInterval(int64_t count);

}  // namespace telltale::model
