#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "data/labels.h"
#include "data/series.h"
#include "model/training/range.h"

namespace telltale::model {

// Which instants of which segment belong to a labelled fault; everything else
// is taken for nominal. Immutable, hence thread-safe.
class FaultLabels {
 public:
  // Nothing is labelled, and no verdict to be learnt.
  FaultLabels() = default;

  // faults[i] are those of segments[i], in any order, overlapping or not.
  // kInvalidArgument: another number of lists than of segments; a fault during
  // which its segment has no instant; no fault at all.
  static absl::StatusOr<FaultLabels> Create(
      std::span<const data::Series> segments,
      std::span<const std::vector<data::TimeRange>> faults);

  // Whether there are no labels.
  bool empty() const { return faults_.empty(); }

  // Whether the instant belongs to a fault. False when empty().
  bool Holds(int segment, int instant) const;
  // Faults that overlap the range, as far as they lie in it, in order.
  std::vector<Range> Within(const Range& range) const;
  int CountInstants(const Range& range) const;

 private:
  std::vector<std::vector<Range>> faults_;  // [segments], disjoint, rising
};

}  // namespace telltale::model
