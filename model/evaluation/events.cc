#include "model/evaluation/events.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_format.h"

#include "model/evaluation/ranking.h"

namespace telltale::model {
namespace {

double Ratio(double part, double whole) {
  return whole == 0 ? 0 : part / whole;
}

int CountOf(std::span<const uint8_t> mask) {
  return static_cast<int>(std::ranges::count(mask, uint8_t{1}));
}

std::optional<int> FirstAlarm(std::span<const uint8_t> alarms,
                              const Interval& label) {
  for (int t = label.first; t <= label.last; ++t) {
    if (alarms[t] != 0) return t;
  }
  return std::nullopt;
}

// The instants of labels and excused intervals together.
Mask MaskWith(std::span<const Interval> labels,
              std::span<const Interval> excused, int length) {
  Mask mask = MaskOf(labels, length);
  for (const Interval& interval : excused) {
    std::fill(mask.begin() + interval.first, mask.begin() + interval.last + 1,
              uint8_t{1});
  }
  return mask;
}

bool TouchesAny(const AlarmEvent& event, std::span<const Interval> labels) {
  return std::ranges::any_of(labels, [&](const Interval& label) {
    return event.span.first <= label.last && label.first <= event.span.last;
  });
}

// Whether the alarms of an event reach a label that none before it reached.
bool FindsSomethingNew(const AlarmEvent& event,
                       std::span<const Interval> labels,
                       std::span<const std::optional<int>> first_alarm) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (first_alarm[i].has_value() && event.span.Contains(*first_alarm[i])) {
      return true;
    }
  }
  return false;
}

void ReportDelays(std::span<const Interval> labels, EventReport& report) {
  std::vector<int> delays;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (!report.first_alarm[i].has_value()) continue;
    delays.push_back(*report.first_alarm[i] - labels[i].first);
  }
  if (delays.empty()) return;
  std::ranges::sort(delays);
  const size_t middle = delays.size() / 2;
  report.mean_delay = std::accumulate(delays.begin(), delays.end(), 0.0) /
                      static_cast<double>(delays.size());
  report.median_delay = delays.size() % 2 == 1
                            ? delays[middle]
                            : (delays[middle - 1] + delays[middle]) / 2.0;
}

// Counts false alarm events while instants are alarmed one after the other, in
// any order. Each event is a tree of its instants (union by root).
class FalseEventCounter {
 public:
  FalseEventCounter(Mask labelled, int distance)
      : labelled_(std::move(labelled)),
        alarmed_(labelled_.size(), 0),
        parent_(labelled_.size()),
        distance_(distance) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  int count() const { return count_; }

  void Alarm(int instant) {
    alarmed_[instant] = 1;
    // From here on, labelled_ at a root says whether its event matches.
    count_ += labelled_[instant] == 0 ? 1 : 0;
    const int length = static_cast<int>(parent_.size());
    for (int d = 1; d < distance_ && instant - d >= 0; ++d) {
      if (alarmed_[instant - d] == 0) continue;
      Join(instant, instant - d);
      break;
    }
    for (int d = 1; d < distance_ && instant + d < length; ++d) {
      if (alarmed_[instant + d] == 0) continue;
      Join(instant, instant + d);
      break;
    }
  }

 private:
  int Root(int instant) {
    while (parent_[instant] != instant) {
      parent_[instant] = parent_[parent_[instant]];
      instant = parent_[instant];
    }
    return instant;
  }

  void Join(int a, int b) {
    const int root = Root(a);
    const int other = Root(b);
    if (root == other) return;
    // Of two false events one is left; a match swallows a false one.
    count_ -= labelled_[root] == 0 || labelled_[other] == 0 ? 1 : 0;
    labelled_[root] |= labelled_[other];
    parent_[other] = root;
  }

  Mask labelled_;
  Mask alarmed_;
  std::vector<int> parent_;
  int distance_;
  int count_ = 0;
};

}  // namespace

std::vector<AlarmEvent> AlarmEventsOf(std::span<const uint8_t> alarms,
                                      std::span<const uint8_t> marked,
                                      int distance) {
  std::vector<AlarmEvent> events;
  const int length = static_cast<int>(alarms.size());
  for (int t = 0; t < length; ++t) {
    if (alarms[t] == 0) continue;
    if (events.empty() || t - events.back().span.last >= distance) {
      events.push_back({{t, t}, false});
    }
    events.back().span.last = t;
    events.back().matches |= marked[t] != 0;
  }
  return events;
}

double FScore(double precision, double recall, double beta) {
  const double square = beta * beta;
  return Ratio((1 + square) * precision * recall, square * precision + recall);
}

absl::StatusOr<EventReport> ReportEvents(std::span<const uint8_t> alarms,
                                         std::span<const Interval> labels,
                                         int distance,
                                         std::span<const Interval> excused) {
  const int length = static_cast<int>(alarms.size());
  for (const auto intervals : {labels, excused}) {
    if (absl::Status status = CheckIntervals(intervals, length); !status.ok()) {
      return status;
    }
  }
  const Mask labelled = MaskWith(labels, excused, length);
  EventReport report;
  report.labels = static_cast<int>(labels.size());
  for (const Interval& label : labels) {
    report.first_alarm.push_back(FirstAlarm(alarms, label));
    report.found += report.first_alarm.back().has_value() ? 1 : 0;
  }
  for (const AlarmEvent& event : AlarmEventsOf(alarms, labelled, distance)) {
    ++report.alarm_events;
    if (!event.matches) {
      ++report.false_events;
    } else if (TouchesAny(event, labels) &&
               !FindsSomethingNew(event, labels, report.first_alarm)) {
      ++report.redundant_events;
    }
  }
  report.precision = Ratio(report.found, report.found + report.false_events);
  report.recall = Ratio(report.found, report.labels);
  report.f05 = FScore(report.precision, report.recall, 0.5);

  const int nominal = length - CountOf(labelled);
  int falsely_alarmed = 0;
  for (int t = 0; t < length; ++t) {
    falsely_alarmed += alarms[t] != 0 && labelled[t] == 0 ? 1 : 0;
  }
  report.corrected_precision =
      report.precision * (1 - Ratio(falsely_alarmed, nominal));
  report.corrected_f05 = FScore(report.corrected_precision, report.recall, 0.5);
  report.alarming_precision =
      Ratio(report.found, report.found + report.redundant_events);
  report.false_alarms_per_10k = 1e4 * Ratio(report.false_events, nominal);
  ReportDelays(labels, report);
  return report;
}

absl::StatusOr<float> ThresholdForBudget(std::span<const float> scores,
                                         std::span<const Interval> labels,
                                         double budget, int distance,
                                         std::span<const Interval> excused) {
  if (absl::Status status = CheckRankable(scores, labels); !status.ok()) {
    return status;
  }
  if (!(budget >= 0)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the budget is %g false alarms per 10,000; expected 0 or more",
        budget));
  }
  const int length = static_cast<int>(scores.size());
  if (absl::Status status = CheckIntervals(excused, length); !status.ok()) {
    return status;
  }
  Mask labelled = MaskWith(labels, excused, length);
  const double allowed = budget * (length - CountOf(labelled)) / 1e4;
  const std::vector<int> order = OrderOf(scores);
  FalseEventCounter counter(std::move(labelled), distance);
  for (int begin = 0; begin < length;) {
    const float score = scores[order[begin]];
    // Equal scores rise above a threshold together.
    int end = begin;
    while (end < length && scores[order[end]] == score) {
      counter.Alarm(order[end++]);
    }
    if (counter.count() > allowed) return score;
    begin = end;
  }
  return -std::numeric_limits<float>::infinity();
}

}  // namespace telltale::model
