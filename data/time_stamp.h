#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "data/series.h"

namespace telltale::data {

// A time stamp as a file wrote it.
struct TimeStamp {
  int64_t time_ns = 0;  // since 1970, or since the run's own zero
  TimeForm form = TimeForm::kSeconds;
};

// Reads either form:
//   RFC 3339: 2026-01-31T12:00:00.5+02:00; `T` may be `t` or a space, the
//     offset may be missing and then is UTC, the fraction has any length;
//   seconds: 1769860800.25, -3, 1.5e3.
// Exact: decimal digits become nanoseconds without passing through a double;
// what is finer than a nanosecond is rounded to the nearest, halves away from
// zero. Leap seconds are not counted, so second 60 is refused.
//
// kInvalidArgument: neither form, no such day or hour, or beyond what int64
// nanoseconds reach (1677-09-21 to 2262-04-11).
absl::StatusOr<TimeStamp> ParseTimeStamp(std::string_view text);

// The shortest text that ParseTimeStamp reads back to `time_ns`; RFC 3339 is
// written in UTC with `Z`.
std::string FormatTimeStamp(int64_t time_ns, TimeForm form);

}  // namespace telltale::data
