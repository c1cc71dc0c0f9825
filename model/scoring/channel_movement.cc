#include "model/scoring/channel_movement.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "model/input_encoding.h"
#include "model/scoring/moving_averages.h"

namespace telltale::model {
namespace {

// A channel that hardly moved in training may move by this share of its
// magnitude before that is much.
constexpr float kLeastUnit = 0.01F;

// What the average of a channel at rest varies by, as a share of what it does
// itself. Noise alone has an average that varies by a third of it.
constexpr double kMostLevelShare = 0.6;

// Whether a channel took more than Scaler::kFineSteps values.
bool TakesManyValues(std::span<const SegmentResiduals> segments,
                     size_t target) {
  std::set<float> values;
  for (const SegmentResiduals& segment : segments) {
    for (int64_t t = 0; t < segment.samples.rows(); ++t) {
      const float x = segment.samples.Row(t)[target];
      if (!std::isnan(x)) values.insert(x);
      if (values.size() > Scaler::kFineSteps) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<float> Units(std::span<const SegmentResiduals> segments,
                         const Checkpoint& checkpoint) {
  const InputEncoding encoding(checkpoint.channels, checkpoint.scaler);
  std::vector<float> units(static_cast<size_t>(checkpoint.config.targets), 1);
  if (encoding.targets().size() != units.size()) return units;
  for (size_t c = 0; c < units.size(); ++c) {
    const int channel = encoding.targets()[c];
    float largest = 0;
    for (const SegmentResiduals& segment : segments) {
      for (int64_t t = 0; t < segment.samples.rows(); ++t) {
        const float x =
            checkpoint.scaler.Invert(channel, segment.samples.Row(t)[c]);
        if (!std::isnan(x)) largest = std::max(largest, std::abs(x));
      }
    }
    const float scale = checkpoint.scaler.scale[static_cast<size_t>(channel)];
    // One that moves in many steps far from zero moves by what it moves by.
    if (scale < Scaler::kFloor * largest && TakesManyValues(segments, c)) {
      continue;
    }
    units[c] = std::max(1.0F, kLeastUnit * largest / scale);
  }
  return units;
}

std::vector<bool> Rests(std::span<const SegmentResiduals> segments,
                        int targets) {
  const auto width = static_cast<size_t>(targets);
  std::vector<double> squares(width, 0.0);
  std::vector<double> level_squares(width, 0.0);
  std::vector<float> levels(width);
  const std::vector<float> missing(width, std::nanf(""));
  for (const SegmentResiduals& segment : segments) {
    MovingAverages averages(width);
    for (int64_t t = 0; t < segment.samples.rows(); ++t) {
      const std::span<const float> row =
          segment.IsKnown(t) ? std::span(segment.samples.Row(t), width)
                             : std::span(missing);
      averages.Push(row, levels);
      for (size_t c = 0; c < width; ++c) {
        if (std::isnan(row[c])) continue;
        squares[c] += static_cast<double>(row[c]) * row[c];
        level_squares[c] += static_cast<double>(levels[c]) * levels[c];
      }
    }
  }
  std::vector<bool> rests(width);
  for (size_t c = 0; c < width; ++c) {
    rests[c] =
        std::sqrt(level_squares[c]) < kMostLevelShare * std::sqrt(squares[c]) &&
        TakesManyValues(segments, c);
  }
  return rests;
}

}  // namespace telltale::model
