#pragma once

#include <cstdint>
#include <span>

#include "model/checkpoint/checkpoint.h"
#include "model/scoring/residual_fit.h"

namespace telltale::model {

// Held-out instants of a segment that curves are fitted to at the most, the
// latest ones.
inline constexpr int64_t kMaxCurveInstants = 100'000;

// Fits how views are judged and sets the thresholds: fills `scoring`,
// `combined`, `threshold`, `nominal_scores`, `lagged_combined` and
// `lagged_threshold` of the checkpoint. Mixing, coupling, units and what rests
// at a level come from all instants; deviations, curves and thresholds from the
// held-out ones alone.
void Calibrate(std::span<const SegmentResiduals> segments,
               double false_alarms_per_10k, Checkpoint& checkpoint);

}  // namespace telltale::model
