#pragma once

#include <cstdint>
#include <span>

#include "model/checkpoint/checkpoint.h"
#include "model/scoring/residual_fit.h"

namespace telltale::model {

// Held-out instants of a segment that curves are fitted to at the most, the
// latest ones.
inline constexpr int64_t kMaxCurveInstants = 100'000;

// What evidence is made of: everything, save where it is measured what a part
// is worth.
struct EvidenceParts {
  bool explaining = true;  // residuals beside those of other channels
  // Views of the next instant's residual, of averages over several horizons, of
  // effects that did not come, of levels, and of residuals over minutes.
  bool magnitude = true;
  bool average = true;
  bool absence = true;
  bool level = true;
  bool slow = true;
  bool novelty = true;
};

// Fits how views are judged and sets the thresholds: fills `scoring`,
// `combined`, `threshold`, `nominal_scores`, `lagged_combined` and
// `lagged_threshold` of the checkpoint. Mixing, coupling, units and what rests
// at a level come from all instants; deviations, curves and thresholds from the
// held-out ones alone.
void Calibrate(std::span<const SegmentResiduals> segments,
               double false_alarms_per_10k, const EvidenceParts& parts,
               Checkpoint& checkpoint);
inline void Calibrate(std::span<const SegmentResiduals> segments,
                      double false_alarms_per_10k, Checkpoint& checkpoint) {
  Calibrate(segments, false_alarms_per_10k, {}, checkpoint);
}

}  // namespace telltale::model
