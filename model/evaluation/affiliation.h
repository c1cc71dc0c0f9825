#pragma once

#include <span>

#include "absl/status/statusor.h"

#include "model/evaluation/interval.h"

namespace telltale::model {

// How close in time alarms lie to labels and labels to alarms, as against
// alarms thrown at random: 0.5 is chance, 1 is exact.
struct Affiliation {
  double precision = 0;  // mean over labels that have alarms in their zone
  double recall = 0;     // mean over all labels
  double f1 = 0;
};

// Huet, Navarro and Rossi (KDD 2022): every instant belongs to the zone of its
// nearest label; within each zone distances are turned into the probability
// that a uniformly drawn instant lies further away, and averaged. Time is
// continuous there: instant t is the stretch [t, t + 1).
//
// Labels that touch or overlap are one. kInvalidArgument: intervals outside
// the series, or no label. Without alarms all three are 0.
absl::StatusOr<Affiliation> ComputeAffiliation(
    std::span<const uint8_t> alarms, std::span<const Interval> labels);

}  // namespace telltale::model
