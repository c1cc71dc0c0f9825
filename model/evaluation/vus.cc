#include "model/evaluation/vus.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "absl/strings/str_format.h"

#include "model/evaluation/ranking.h"

namespace telltale::model {
namespace {

constexpr int kThresholds = 250;

// The thresholds, highest first, and what each of them flags.
struct Thresholds {
  std::vector<float> values;
  std::vector<int> flagged;  // instants at or above each
};

Thresholds PickThresholds(std::span<const float> scores,
                          std::span<const int> order) {
  const int length = static_cast<int>(scores.size());
  const double step = (length - 1) / (kThresholds - 1.0);
  Thresholds thresholds;
  for (int k = 0; k < kThresholds; ++k) {
    const int rank =
        k == kThresholds - 1 ? length - 1 : static_cast<int>(k * step);
    const float value = scores[order[rank]];
    const auto below = std::ranges::upper_bound(
        order, value, std::greater<>(), [scores](int t) { return scores[t]; });
    thresholds.values.push_back(value);
    thresholds.flagged.push_back(static_cast<int>(below - order.begin()));
  }
  return thresholds;
}

// The first threshold that a score reaches; kThresholds when it reaches none.
int FirstReached(const Thresholds& thresholds, float score) {
  return static_cast<int>(
      std::ranges::lower_bound(thresholds.values, score, std::greater<>()) -
      thresholds.values.begin());
}

// The labelled intervals, each lengthened by half the width on both sides and
// joined where they then overlap.
std::vector<Interval> Extend(std::span<const Interval> labels, int width,
                             int length) {
  const int half = width / 2;
  std::vector<Interval> extended;
  for (const Interval& label : labels) {
    const Interval wide{std::max(label.first - half, 0),
                        std::min(label.last + half, length - 1)};
    // Overlapping by raw ends, as at the series' border the clamped ones do.
    if (!extended.empty() && extended.back().last >= label.first - half) {
      extended.back().last = wide.last;
    } else {
      extended.push_back(wide);
    }
  }
  return extended;
}

// What all widths share.
struct Surface {
  std::span<const float> scores;
  std::vector<Interval> labels;  // disjoint, not adjacent, in order
  Thresholds thresholds;
  Mask labelled;
  double positives = 0;
  std::vector<double> true_flagged;  // labelled instants, at each threshold
  std::vector<int> first_reached;    // by each instant
};

// Running sums, in place.
void Accumulate(std::vector<double>& values) {
  double sum = 0;
  for (double& value : values) value = sum += value;
}

// How much of each threshold's flags lies on the ramps of this width.
std::vector<double> RampFlagged(const Surface& surface, int width) {
  const int length = static_cast<int>(surface.scores.size());
  const int half = width / 2;
  // Ramps of neighbours add up, to one at most.
  std::vector<double> ramp(surface.scores.size(), 0.0);
  for (const Interval& label : surface.labels) {
    for (int d = 1; d <= half; ++d) {
      const double height = std::sqrt(1 - static_cast<double>(d) / width);
      if (label.last + d < length) ramp[label.last + d] += height;
      if (label.first - d >= 0) ramp[label.first - d] += height;
    }
  }
  std::vector<double> flagged(kThresholds + 1, 0.0);
  for (const Interval& wide : Extend(surface.labels, width, length)) {
    for (int t = wide.first; t <= wide.last; ++t) {
      if (surface.labelled[t] != 0) continue;
      flagged[surface.first_reached[t]] += std::min(ramp[t], 1.0);
    }
  }
  Accumulate(flagged);
  return flagged;
}

// The share of extended intervals that each threshold flags anywhere.
std::vector<double> Existence(const Surface& surface, int width) {
  const std::vector<Interval> extended =
      Extend(surface.labels, width, static_cast<int>(surface.scores.size()));
  std::vector<double> existence(kThresholds + 1, 0.0);
  for (const Interval& wide : extended) {
    const float highest = std::ranges::max(surface.scores.subspan(
        static_cast<size_t>(wide.first), static_cast<size_t>(wide.length())));
    existence[FirstReached(surface.thresholds, highest)] +=
        1.0 / static_cast<double>(extended.size());
  }
  Accumulate(existence);
  return existence;
}

// The areas under the two curves of one width.
Vus Areas(const Surface& surface, int width) {
  const double length = static_cast<double>(surface.scores.size());
  const std::vector<double> on_ramps = RampFlagged(surface, width);
  const std::vector<double> existence = Existence(surface, width);
  Vus areas;
  double last_recall = 0;
  double last_fall_out = 0;
  for (int k = 0; k < kThresholds; ++k) {
    const double flagged = surface.thresholds.flagged[k];
    const double true_positives = surface.true_flagged[k] + on_ramps[k];
    const double positives = surface.positives + on_ramps[k] / 2;
    const double recall =
        std::min(true_positives / positives, 1.0) * existence[k];
    const double fall_out = (flagged - true_positives) / (length - positives);
    areas.pr += (recall - last_recall) * true_positives / flagged;
    areas.roc += (fall_out - last_fall_out) * (recall + last_recall) / 2;
    last_recall = recall;
    last_fall_out = fall_out;
  }
  areas.roc += (1 - last_fall_out) * (1 + last_recall) / 2;
  return areas;
}

}  // namespace

absl::StatusOr<Vus> ComputeVus(std::span<const float> scores,
                               std::span<const Interval> labels, int buffer) {
  if (absl::Status status = CheckRankable(scores, labels); !status.ok()) {
    return status;
  }
  if (buffer < 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the buffer is %d instants; expected 0 or more", buffer));
  }
  Surface surface;
  surface.scores = scores;
  surface.labelled = MaskOf(labels, static_cast<int>(scores.size()));
  surface.labels = IntervalsOf(surface.labelled);
  surface.thresholds = PickThresholds(scores, OrderOf(scores));
  surface.true_flagged.assign(kThresholds + 1, 0.0);
  for (size_t t = 0; t < scores.size(); ++t) {
    surface.first_reached.push_back(
        FirstReached(surface.thresholds, scores[t]));
    if (surface.labelled[t] == 0) continue;
    surface.positives += 1;
    surface.true_flagged[surface.first_reached.back()] += 1;
  }
  Accumulate(surface.true_flagged);

  Vus volume;
  for (int width = 0; width <= buffer; ++width) {
    const Vus areas = Areas(surface, width);
    volume.pr += areas.pr / (buffer + 1.0);
    volume.roc += areas.roc / (buffer + 1.0);
  }
  return volume;
}

}  // namespace telltale::model
