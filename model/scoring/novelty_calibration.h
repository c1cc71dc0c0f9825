#pragma once

#include <span>
#include <vector>

#include "model/scoring/evidence.h"
#include "model/scoring/residual_fit.h"

namespace telltale::model {

// Chooses each channel's bank and weight; `scoring.residuals` is fitted.
// `unit`[T]: what a channel moves by, in scaled units.
void FitNovelty(std::span<const SegmentResiduals> segments,
                std::span<const float> unit, Scoring& scoring);

// Novelty of a segment's instants as calibration should see it: [instants] of
// one for each channel followed. Empty where following the stream against the
// bank tells it, because the bank is of other instants than the held-out ones.
std::vector<std::vector<Novelty>> HeldOutNovelty(
    std::span<const SegmentResiduals> segments, size_t segment,
    const Scoring& scoring);

}  // namespace telltale::model
