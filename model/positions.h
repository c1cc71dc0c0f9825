#pragma once

#include <cstdint>
#include <span>

namespace telltale::model {

// Where an instant stands in units of the cadence. Whole cadences are counted
// in integers, so that nanoseconds since 1970 lose nothing in a double.
inline double Position(int64_t time_ns, int64_t cadence_ns) {
  const int64_t whole = time_ns / cadence_ns;
  const int64_t rest = time_ns % cadence_ns;
  return static_cast<double>(whole) +
         static_cast<double>(rest) / static_cast<double>(cadence_ns);
}

// Two positions are the same instant when they differ by less than this.
inline constexpr double kSameInstant = 0.5;

}  // namespace telltale::model
