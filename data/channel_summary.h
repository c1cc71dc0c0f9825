#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/series.h"

namespace telltale::data {

// What recordings hold of one channel.
struct ChannelSummary {
  int64_t samples = 0;  // not missing
  int64_t missing = 0;
  float lowest = 0;  // of the samples; 0 where there are none
  float highest = 0;

  bool constant() const { return samples > 0 && lowest == highest; }
};

// Of each channel over all segments, which have the same channels.
std::vector<ChannelSummary> SummariseChannels(std::span<const Series> segments);

}  // namespace telltale::data
