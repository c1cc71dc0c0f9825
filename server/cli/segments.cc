#include "server/cli/segments.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"

#include "data/channel.h"
#include "data/labels.h"
#include "data/series_reader.h"
#include "server/cli/telemetry_source.h"

namespace telltale::server {
namespace {

void Reorder(const std::vector<int>& columns, data::Series& series) {
  // Mostly they stand in the order that is wanted.
  if (std::ranges::is_sorted(columns)) return;
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
    auto recording = data::ReadSegments(spec);
    if (!recording.ok()) return recording.status();
    const data::ChannelSet& has = recording->front().channels;
    if (segments.empty()) {
      channels = has.channels();
    } else {
      const auto columns =
          MatchRecording(spec, has, segments.front().channels, specs.front());
      if (!columns.ok()) return columns.status();
      MergeKinds(*columns, has, channels);
      for (data::Series& segment : *recording) Reorder(*columns, segment);
    }
    std::ranges::move(*recording, std::back_inserter(segments));
  }
  auto set = data::ChannelSet::Create(std::move(channels));
  if (!set.ok()) return set.status();
  for (data::Series& segment : segments) segment.channels = *set;
  return segments;
}

absl::StatusOr<model::FaultLabels> ReadFaults(
    const std::string& path, const std::vector<data::Series>& segments) {
  const auto labels = data::ReadLabels(path);
  if (!labels.ok()) return labels.status();
  std::vector<std::vector<data::TimeRange>> faults(segments.size());
  for (const data::LabelledEvent& event : *labels) {
    if (!event.segment && segments.size() > 1) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s: there are %d segments; the labels need a column segment, "
          "counted from 0",
          path, segments.size()));
    }
    const auto segment = static_cast<size_t>(event.segment.value_or(0));
    if (segment >= segments.size()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s: a label of segment %d; there are %d, counted from 0", path,
          segment, segments.size()));
    }
    faults[segment].push_back({event.start_ns, event.end_ns});
  }
  auto read = model::FaultLabels::Create(segments, faults);
  if (read.ok()) return read;
  return absl::Status(
      read.status().code(),
      absl::StrFormat("%s: %s", path, std::string(read.status().message())));
}

}  // namespace telltale::server
