#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/detector.h"

namespace telltale::model {

// How the masking check is made: the forecast whose residual alarmed is made
// again without the keys of the instants most pointed at, and without those of
// as many random earlier ones, several times over. A forecast that rested on
// what it points back to changes more in the first case.

// Of the instants pointed at, the strongest so many.
inline constexpr int kMaskedInstants = 3;
// Draws of random instants that an alarm is compared with.
inline constexpr int kMaskingDraws = 8;
// Random instants lie further back from the alarmed one than so many: its own
// beginnings are no comparison.
inline constexpr int kMaskingRecent = 8;

// Instants [begin, end) that a query's forecast may point back to.
struct Reachable {
  int64_t begin = 0, end = 0;
};

// Sets of instants whose keys are hidden together.
struct MaskingPlan {
  int instants = 0;  // that are pointed at and hidden, 1 to kMaskedInstants
  // None; all of those pointed at; each of them by itself; and then
  // kMaskingDraws times as many random ones.
  std::vector<std::vector<int64_t>> hidden;
};

// `pointed`: instants, strongest first. Random ones are drawn from what is
// reachable, neither recent nor within kPeakDistance of one pointed at or of
// each other; which ones depends on the arguments alone. An instant stands for
// all keys whose stem, of `stem_taps` instants, covers it. Nothing when nothing
// is pointed at, or too little is reachable to draw from.
std::optional<MaskingPlan> PlanMasking(std::span<const int64_t> pointed,
                                       const Reachable& reachable,
                                       int64_t alarmed, int stem_taps);

// `forecasts`: one for each set of the plan, of the channel and horizon that
// alarmed; `deviation` of its residuals. Completes the verdict: the check, and
// each pointed instant's own part.
void FillMasking(const MaskingPlan& plan, std::span<const float> forecasts,
                 float deviation, InstantScore& score);

}  // namespace telltale::model
