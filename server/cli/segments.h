#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "data/series.h"

namespace telltale::server {

// Reads recordings of one vehicle, each as ReadSeries takes it. All get the
// channels of the first, in its order; a channel is a command if it is so in
// all of them.
//
// Errors as ReadSeries and MatchChannels (telemetry_source.h).
absl::StatusOr<std::vector<data::Series>> ReadSegments(
    const std::vector<std::string>& specs);

}  // namespace telltale::server
