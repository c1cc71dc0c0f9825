#include "server/cli/trained_span.h"

#include <span>

namespace telltale::server {
namespace {

constexpr int kInstantsAtATime = 4096;

}  // namespace

absl::StatusOr<std::optional<data::TimeRange>> FindTrainedSpan(
    const std::string& spec, const data::ChannelSet& channels,
    const model::RecordingSketch& instants) {
  if (instants.empty()) return std::nullopt;
  absl::StatusOr<TelemetrySource> source =
      TelemetrySource::Open(spec, channels);
  if (!source.ok()) return source.status();
  return FindTrainedSpan(*source, channels.size(), instants);
}

absl::StatusOr<std::optional<data::TimeRange>> FindTrainedSpan(
    TelemetrySource& source, int channels,
    const model::RecordingSketch& instants) {
  std::optional<data::TimeRange> span;
  if (instants.empty()) return span;
  const auto width = static_cast<size_t>(channels);
  model::SharedInstants shared(instants);
  while (true) {
    Instants read;
    const absl::StatusOr<int> count = source.Read(kInstantsAtATime, read);
    if (!count.ok()) return count.status();
    for (size_t t = 0; t < read.time_ns.size(); ++t) {
      shared.Push(read.time_ns[t],
                  std::span(read.samples).subspan(t * width, width));
    }
    if (*count == 0 || read.time_ns.back() > instants.last_time_ns()) break;
  }
  if (shared.overlap()) {
    span = {shared.first_time_ns(), shared.last_time_ns()};
  }
  return span;
}

}  // namespace telltale::server
