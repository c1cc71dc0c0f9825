#include "data/channel_summary.h"

#include <algorithm>
#include <cmath>

namespace telltale::data {
namespace {

void Add(float sample, ChannelSummary& summary) {
  if (std::isnan(sample)) {
    ++summary.missing;
    return;
  }
  const bool first = summary.samples == 0;
  summary.lowest = first ? sample : std::min(summary.lowest, sample);
  summary.highest = first ? sample : std::max(summary.highest, sample);
  ++summary.samples;
}

}  // namespace

std::vector<ChannelSummary> SummariseChannels(
    std::span<const Series> segments) {
  if (segments.empty()) return {};
  std::vector<ChannelSummary> summaries(segments.front().channels.size());
  for (const Series& segment : segments) {
    for (int t = 0; t < segment.length(); ++t) {
      const std::span<const float> instant = segment.Instant(t);
      for (size_t c = 0; c < summaries.size(); ++c) {
        Add(instant[c], summaries[c]);
      }
    }
  }
  return summaries;
}

}  // namespace telltale::data
