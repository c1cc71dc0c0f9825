#pragma once

#include <span>
#include <vector>

#include "data/series.h"
#include "model/encoder_config.h"
#include "model/scoring/residual_fit.h"
#include "model/scoring/verdict_threshold.h"
#include "model/training/division.h"
#include "model/training/fault_labels.h"
#include "model/training/range.h"
#include "model/training/trainer.h"

namespace telltale::model {

// Instants that calibration looks at: `range`, of which those from `held_out`
// on are held out, and those before tell what shocks look like.
struct CalibrationPart {
  Range range;
  int held_out = 0;  // an instant of the segment

  friend bool operator==(const CalibrationPart&,
                         const CalibrationPart&) = default;
};

// Chooses them so that what calibration keeps of them stays, in bytes, below
// the larger of kLeastCalibrationBytes and kCalibrationShare of the samples. Of
// each segment the latest instants are taken, no more than curves are fitted to
// unless there are labels; where that is too much still, the same share of each
// segment; and of too many short segments as many as fit, evenly chosen.
inline constexpr double kLeastCalibrationBytes = 116 << 20;
inline constexpr double kCalibrationShare = 0.6;
std::vector<CalibrationPart> PlanCalibration(
    std::span<const data::Series> segments, const FaultLabels& labels,
    const EncoderConfig& encoder, const Division& division);

// What calibration keeps of these parts, in bytes: residuals and views.
double CalibrationBytes(std::span<const CalibrationPart> parts,
                        const EncoderConfig& encoder);

// What the held-out telemetry shows: residuals to calibrate on and verdicts.
struct HeldOut {
  std::vector<SegmentResiduals> residuals;
  std::vector<LabelledVerdict> verdicts;  // in order of time
};

// Advances over the parts with the parameters as they are.
HeldOut CollectHeldOut(Trainer& trainer, const FaultLabels& labels,
                       int longest_horizon,
                       std::span<const CalibrationPart> parts);

}  // namespace telltale::model
