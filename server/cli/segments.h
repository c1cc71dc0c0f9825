#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "data/series.h"
#include "model/training/fault_labels.h"

namespace telltale::server {

// Reads recordings of one vehicle, each as data::ReadSegments takes it, one
// segment after the other. All get the channels of the first, in its order; a
// channel is a command if it is so in all of them.
//
// Errors as data::ReadSegments and MatchRecording (telemetry_source.h).
absl::StatusOr<std::vector<data::Series>> ReadSegments(
    const std::vector<std::string>& specs);

// Reads the labelled faults of these segments, as data::ReadLabels takes them.
// A label names its segment, counted from 0, unless there is only one.
//
// Errors as data::ReadLabels and FaultLabels::Create, and kInvalidArgument,
// naming the file: a label of no segment, or of one that is not there.
absl::StatusOr<model::FaultLabels> ReadFaults(
    const std::string& path, const std::vector<data::Series>& segments);

}  // namespace telltale::server
