#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "data/channel.h"
#include "data/labels.h"
#include "model/checkpoint/recording_sketch.h"
#include "server/cli/telemetry_source.h"

namespace telltale::server {

// The part of a recording, from its first to its last such instant, that a
// model is known to have been trained or calibrated on; nothing where there is
// none. Reads the recording as far as the model's own telemetry reaches.
//
// `spec` and `channels` as TelemetrySource::Open takes them, with its errors.
absl::StatusOr<std::optional<data::TimeRange>> FindTrainedSpan(
    const std::string& spec, const data::ChannelSet& channels,
    const model::RecordingSketch& instants);

// The same of a source of as many channels, read from its beginning.
absl::StatusOr<std::optional<data::TimeRange>> FindTrainedSpan(
    TelemetrySource& source, int channels,
    const model::RecordingSketch& instants);

}  // namespace telltale::server
