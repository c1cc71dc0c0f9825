#include "model/training/fault_labels.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_format.h"

namespace telltale::model {
namespace {

// The instants of a fault; empty when none falls into it.
Range InstantsOf(const data::Series& series, int segment,
                 const data::TimeRange& fault) {
  const auto begin = std::ranges::lower_bound(series.time_ns, fault.start_ns);
  const auto end = std::ranges::upper_bound(series.time_ns, fault.end_ns);
  return {segment, static_cast<int>(begin - series.time_ns.begin()),
          static_cast<int>(end - series.time_ns.begin())};
}

// Sorted, and with what overlaps or touches made one.
std::vector<Range> Merge(std::vector<Range> ranges) {
  std::ranges::sort(ranges, {}, &Range::begin);
  std::vector<Range> merged;
  for (const Range& range : ranges) {
    if (!merged.empty() && range.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

}  // namespace

absl::StatusOr<FaultLabels> FaultLabels::Create(
    std::span<const data::Series> segments,
    std::span<const std::vector<data::TimeRange>> faults) {
  if (faults.size() != segments.size()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("there are labels of %d segments; expected %d",
                        faults.size(), segments.size()));
  }
  FaultLabels labels;
  bool any = false;
  for (size_t i = 0; i < segments.size(); ++i) {
    std::vector<Range> ranges;
    for (const data::TimeRange& fault : faults[i]) {
      const Range range = InstantsOf(segments[i], static_cast<int>(i), fault);
      if (range.length() <= 0) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "a labelled fault of segment %d, from %.9g s to %.9g s, covers "
            "none of its instants; are the labels those of this telemetry?",
            i, 1e-9 * static_cast<double>(fault.start_ns),
            1e-9 * static_cast<double>(fault.end_ns)));
      }
      ranges.push_back(range);
      any = true;
    }
    labels.faults_.push_back(Merge(std::move(ranges)));
  }
  if (!any) {
    return absl::InvalidArgumentError(
        "there is no labelled fault to learn a verdict from");
  }
  return labels;
}

bool FaultLabels::Holds(int segment, int instant) const {
  if (empty()) return false;
  const std::vector<Range>& ranges = faults_[static_cast<size_t>(segment)];
  const auto after = std::ranges::upper_bound(ranges, instant, {}, &Range::end);
  return after != ranges.end() && after->begin <= instant;
}

std::vector<Range> FaultLabels::Within(const Range& range) const {
  std::vector<Range> within;
  if (empty()) return within;
  for (const Range& fault : faults_[static_cast<size_t>(range.segment)]) {
    const Range part = {range.segment, std::max(fault.begin, range.begin),
                        std::min(fault.end, range.end)};
    if (part.length() > 0) within.push_back(part);
  }
  return within;
}

int FaultLabels::CountInstants(const Range& range) const {
  int count = 0;
  for (const Range& fault : Within(range)) count += fault.length();
  return count;
}

}  // namespace telltale::model
