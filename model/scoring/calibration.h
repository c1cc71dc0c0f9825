#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/checkpoint/checkpoint.h"
#include "model/matrix.h"

namespace telltale::model {

// Residuals of one segment's consecutive instants.
struct SegmentResiduals {
  Matrix residuals;            // [instants, m * T], scaled units; NaN: none
  int64_t held_out_begin = 0;  // rows from here on were not trained on
};

// Fits how residuals are judged and sets the threshold: fills `scoring`,
// `combined`, `threshold` and `nominal_scores` of the checkpoint. Shocks come
// from all residuals, tails and threshold from the held-out ones alone.
void Calibrate(std::span<const SegmentResiduals> segments,
               double false_alarms_per_10k, Checkpoint& checkpoint);

}  // namespace telltale::model
