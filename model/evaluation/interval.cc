#include "model/evaluation/interval.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace telltale::model {

absl::Status CheckIntervals(std::span<const Interval> intervals, int length) {
  for (const Interval& interval : intervals) {
    if (interval.first < 0 || interval.last >= length ||
        interval.last < interval.first) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "the interval [%d, %d] does not lie within the %d instants",
          interval.first, interval.last, length));
    }
  }
  return absl::OkStatus();
}

Mask MaskOf(std::span<const Interval> intervals, int length) {
  Mask mask(static_cast<size_t>(length), 0);
  for (const Interval& interval : intervals) {
    std::fill_n(mask.begin() + interval.first, interval.length(), uint8_t{1});
  }
  return mask;
}

std::vector<Interval> IntervalsOf(std::span<const uint8_t> mask) {
  std::vector<Interval> intervals;
  const int length = static_cast<int>(mask.size());
  for (int t = 0; t < length; ++t) {
    if (mask[t] == 0) continue;
    if (t == 0 || mask[t - 1] == 0) intervals.push_back({t, t});
    intervals.back().last = t;
  }
  return intervals;
}

Mask AlarmsOf(std::span<const float> scores, float threshold) {
  Mask alarms(scores.size());
  std::ranges::transform(scores, alarms.begin(), [threshold](float score) {
    return static_cast<uint8_t>(score > threshold);
  });
  return alarms;
}

}  // namespace telltale::model
