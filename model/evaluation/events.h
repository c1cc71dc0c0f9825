#pragma once

#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "model/evaluation/interval.h"

namespace telltale::model {

// Alarms fewer instants apart than this are one event.
inline constexpr int kEventDistance = 20;

// An alarm event: where it starts and ends, and whether any of its alarmed
// instants is marked.
struct AlarmEvent {
  Interval span;
  bool matches = false;
};

// The alarm events, in order. REQUIRES: masks of one length.
std::vector<AlarmEvent> AlarmEventsOf(std::span<const uint8_t> alarms,
                                      std::span<const uint8_t> marked,
                                      int distance = kEventDistance);

// (1 + b^2) P R / (b^2 P + R); 0 when both are.
double FScore(double precision, double recall, double beta);

// Detection seen as events. Telemanom's rule (Hundman et al., KDD 2018): a
// label with an alarmed instant is found, once however many alarms it gets; an
// alarm event that touches no label is false. A ratio of nothing to nothing
// is 0.
struct EventReport {
  int labels = 0;
  int found = 0;
  int alarm_events = 0;
  int false_events = 0;
  // Alarm events that match only labels already found by an earlier one.
  int redundant_events = 0;
  double precision = 0;  // found / (found + false_events)
  double recall = 0;     // found / labels
  double f05 = 0;
  // The same, with the precision multiplied by the share of unlabelled instants
  // that were not alarmed (ESA-ADB: Kotowski et al., 2024), so that alarming
  // always is worth nothing.
  double corrected_precision = 0;
  double corrected_f05 = 0;
  double alarming_precision = 0;  // found / (found + redundant), ESA-ADB
  // For each 10,000 unlabelled instants.
  double false_alarms_per_10k = 0;
  // For each label, as given: its first alarmed instant, if any.
  std::vector<std::optional<int>> first_alarm;
  // Instants from a found label's start to its first alarm; 0 when none is.
  double mean_delay = 0;
  double median_delay = 0;
};

// Labels may overlap; each counts for itself. In `excused` intervals alarms are
// neither hits nor false, and their instants do not count as unlabelled: such
// as from a fault's cause to its effect, where something is wrong already.
// kInvalidArgument: an interval that does not lie within the series.
absl::StatusOr<EventReport> ReportEvents(
    std::span<const uint8_t> alarms, std::span<const Interval> labels,
    int distance = kEventDistance, std::span<const Interval> excused = {});

// The lowest threshold, coming from the top, up to which no more than `budget`
// false alarm events occur for each 10,000 unlabelled instants; alarms are the
// scores above it. From the top, because at low levels alarms run together
// into few events. Minus infinity when no threshold breaks the budget.
// Errors as CheckRankable's, and kInvalidArgument for a negative budget.
absl::StatusOr<float> ThresholdForBudget(
    std::span<const float> scores, std::span<const Interval> labels,
    double budget, int distance = kEventDistance,
    std::span<const Interval> excused = {});

}  // namespace telltale::model
