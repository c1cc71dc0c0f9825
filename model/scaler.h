#pragma once

#include <span>
#include <vector>

#include "data/channel.h"
#include "data/series.h"

namespace telltale::model {

// Per-channel robust scaling: scaled = (x - center) / scale.
//
// A continuous channel's centre is its median; its scale is the largest of
//   - the distance between its 5 % and 95 % quantiles over 3.29, which is the
//     standard deviation where the channel is normal and heeds no outlier,
//   - its standard deviation with the outermost thousandth on either side drawn
//     in, for channels that rest nearly always and move now and then,
//   - the floor: kFloor times its largest magnitude, and 1e-6. The noise of a
//     silent channel's quantisation stays below it, while a step of a unit in
//     a constant channel of hundreds stands out. A channel that moves in many
//     steps, however far from zero, has no such floor, but 1e-8.
// A command keeps its zero, and its largest magnitude becomes one. A discrete
// channel is not scaled.
struct Scaler {
  static constexpr float kFloor = 1e-3F;
  // Different samples, between the quantiles, that make a channel's movement
  // more than a converter's last digits.
  static constexpr int kFineSteps = 32;

  std::vector<float> center;  // [channels]
  std::vector<float> scale;   // [channels], positive

  // From instants [begin, end) of each segment; missing samples do not count.
  struct Part {
    const data::Series* series = nullptr;
    int begin = 0, end = 0;
  };
  static Scaler Fit(const data::ChannelSet& channels,
                    std::span<const Part> parts);

  float Apply(int channel, float x) const {
    return (x - center[channel]) / scale[channel];
  }
  float Invert(int channel, float scaled) const {
    return scaled * scale[channel] + center[channel];
  }
};

}  // namespace telltale::model
