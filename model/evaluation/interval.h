#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace telltale::model {

// A run of instants, by index, both ends included.
struct Interval {
  int first = 0;
  int last = 0;

  bool Contains(int instant) const {
    return first <= instant && instant <= last;
  }
  int length() const { return last - first + 1; }

  friend bool operator==(const Interval&, const Interval&) = default;
};

// One entry for each instant: 1 where it is labelled or alarmed, else 0.
using Mask = std::vector<uint8_t>;

// kInvalidArgument unless every interval lies within [0, length) and does not
// end before it starts. They may overlap.
absl::Status CheckIntervals(std::span<const Interval> intervals, int length);

// The instants that lie in any of the intervals.
// REQUIRES: CheckIntervals(intervals, length) is OK.
Mask MaskOf(std::span<const Interval> intervals, int length);

// The maximal runs of ones, in order.
std::vector<Interval> IntervalsOf(std::span<const uint8_t> mask);

// The instants whose score exceeds `threshold`, as the detector decides it.
Mask AlarmsOf(std::span<const float> scores, float threshold);

}  // namespace telltale::model
