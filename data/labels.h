#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "data/series.h"

namespace telltale::data {

// From `start_ns` to `end_ns`, both included.
struct TimeRange {
  int64_t start_ns = 0;
  int64_t end_ns = 0;

  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

// One known fault of a recorded run.
struct LabelledEvent {
  int64_t start_ns = 0;  // where it shows, both ends included
  int64_t end_ns = 0;
  std::optional<TimeRange> cause;  // what led to it, if that lies earlier
  std::string cause_channel;       // empty: unknown
  std::string kind;                // empty: unknown
  std::string channel;             // on which it shows; empty: unknown
  // Which of several segments it is of, counted from 0; none: of the only one.
  std::optional<int> segment = {};

  friend bool operator==(const LabelledEvent&, const LabelledEvent&) = default;
};

// Reads labels from CSV: the columns `start,end`, and optionally
// `cause_start,cause_end,cause_channel,kind,channel,segment`, in any order.
// Events may overlap and stand in any order; a file with a header only holds
// none.
//
// kNotFound, kPermissionDenied: cannot be opened. kInvalidArgument, naming
// file, line, column and text: an unknown column, a bad time stamp, an end
// before its start, half a cause, a segment that is no number from 0 on.
absl::StatusOr<std::vector<LabelledEvent>> ReadLabels(const std::string& path);

// Writes the seven columns from start to channel, time stamps in `form`, and
// the segment before them where any event has one.
absl::Status WriteLabels(const std::vector<LabelledEvent>& events,
                         TimeForm form, const std::string& path);

}  // namespace telltale::data
