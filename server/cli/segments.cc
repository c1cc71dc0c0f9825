#include "server/cli/segments.h"

#include <span>
#include <utility>

#include "data/channel.h"
#include "data/series_reader.h"
#include "server/cli/telemetry_source.h"

namespace telltale::server {
namespace {

void Reorder(const std::vector<int>& columns, data::Series& series) {
  std::vector<float> samples;
  samples.reserve(series.samples.size());
  for (int t = 0; t < series.length(); ++t) {
    const std::span<const float> row = series.Instant(t);
    for (const int column : columns) {
      samples.push_back(row[static_cast<size_t>(column)]);
    }
  }
  series.samples = std::move(samples);
}

// A channel that one recording does not show to be a command is none.
void MergeKinds(const std::vector<int>& columns, const data::ChannelSet& other,
                std::vector<data::Channel>& channels) {
  for (size_t c = 0; c < channels.size(); ++c) {
    if (other[columns[c]].kind != data::ChannelKind::kCommand) {
      channels[c].kind = data::ChannelKind::kContinuous;
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<data::Series>> ReadSegments(
    const std::vector<std::string>& specs) {
  std::vector<data::Series> segments;
  std::vector<data::Channel> channels;
  for (const std::string& spec : specs) {
    auto series = data::ReadSeries(spec);
    if (!series.ok()) return series.status();
    if (segments.empty()) {
      channels = series->channels.channels();
    } else {
      const auto columns = MatchChannels(
          spec, series->channels, segments.front().channels, specs.front());
      if (!columns.ok()) return columns.status();
      Reorder(*columns, *series);
      MergeKinds(*columns, series->channels, channels);
    }
    segments.push_back(*std::move(series));
  }
  auto set = data::ChannelSet::Create(std::move(channels));
  if (!set.ok()) return set.status();
  for (data::Series& segment : segments) segment.channels = *set;
  return segments;
}

}  // namespace telltale::server
