#pragma once

#include <span>

namespace telltale::model {

// The probability of a verdict's logit.
float VerdictProbability(float logit);

// One held-out instant.
struct LabelledVerdict {
  float logit = 0;  // NaN: a gap between segments
  bool fault = false;
};

// The logit above which a verdict is called an anomaly, from held-out instants
// in order of time: where the F1 of instants is highest, in the middle of the
// range where it is. 0, which is a probability of one half, when there is no
// fault among them, or nothing else.
//
// It is raised to where events away from faults keep within the budget, if
// there are enough instants to tell: so many that one event is allowed. An
// alarm within kEventGap (threshold.h) of a fault belongs to it.
float VerdictThreshold(std::span<const LabelledVerdict> verdicts,
                       double false_alarms_per_10k);

}  // namespace telltale::model
