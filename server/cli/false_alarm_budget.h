#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace telltale::server {

// How many false-alarm events are put up with.
struct FalseAlarmBudget {
  double events = 5;
  bool per_day = false;  // false: for each 10,000 instants

  // "5/10000" or "2/day". kInvalidArgument: neither, or not above 0.
  static absl::StatusOr<FalseAlarmBudget> Parse(std::string_view text);

  // Events for each 10,000 instants that are `cadence_ns` apart.
  double Per10k(int64_t cadence_ns) const;
};

}  // namespace telltale::server
