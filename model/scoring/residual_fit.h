#pragma once

#include <cstdint>
#include <span>

#include "model/matrix.h"
#include "model/scoring/residual_scoring.h"

namespace telltale::model {

// What calibration knows of one segment's consecutive instants, in scaled
// units; NaN: none.
struct SegmentResiduals {
  Matrix residuals;            // [instants, m * T]
  Matrix changes;              // [instants, T]; see Observation
  Matrix samples;              // [instants, T]
  int64_t held_out_begin = 0;  // rows from here on were not trained on

  // Whether any residual of an instant is known. Where none is, such as in a
  // labelled fault, nothing else of it is learnt from either.
  bool IsKnown(int64_t t) const;
};

// Fits deviations, from the held-out residuals, mixing and coupling, from all:
// sets them in a scoring of `horizons` and `targets`. `units`[T]: what a
// channel moves by, in scaled units.
void FitResiduals(std::span<const SegmentResiduals> segments,
                  std::span<const float> units, ResidualScoring& scoring);

}  // namespace telltale::model
