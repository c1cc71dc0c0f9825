#pragma once

#include <span>
#include <vector>

#include "model/checkpoint/checkpoint.h"
#include "model/scoring/residual_fit.h"

namespace telltale::model {

// How the channels that are forecast moved in the telemetry that calibration
// looks at, held out or not.

// [T]: what each channel moves by, in scaled units: one, or more where it moved
// in a few steps that are little for its magnitude.
std::vector<float> Units(std::span<const SegmentResiduals> segments,
                         const Checkpoint& checkpoint);

// [T]: which channels moved about one level: those that took many values and
// whose moving average varied by much less than they did.
std::vector<bool> Rests(std::span<const SegmentResiduals> segments,
                        int targets);

}  // namespace telltale::model
