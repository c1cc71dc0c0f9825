#include "server/cli/evaluation.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

#include "data/time_stamp.h"
#include "model/random.h"

namespace telltale::server {
namespace {

using model::AttributedEvent;
using model::Interval;
using model::Mask;

constexpr uint64_t kSeed = 1;
// Candidates of controls come from so many instants before the alarm, the
// recent ones aside.
constexpr int kReach = 256;
constexpr int kRandomDraws = 200;
constexpr int kCandidates = 5;

// The rows within [start, end], which may be none (last < first).
Interval RowsWithin(const std::vector<int64_t>& time_ns, int64_t start_ns,
                    int64_t end_ns) {
  const auto first = std::ranges::lower_bound(time_ns, start_ns);
  const auto end = std::ranges::upper_bound(time_ns, end_ns);
  return {static_cast<int>(first - time_ns.begin()),
          static_cast<int>(end - time_ns.begin()) - 1};
}

// The row nearest in time; the earlier of two.
int NearestRow(const std::vector<int64_t>& time_ns, int64_t wanted_ns) {
  const auto after = std::ranges::lower_bound(time_ns, wanted_ns);
  const int row = static_cast<int>(after - time_ns.begin());
  if (row == 0) return 0;
  if (after == time_ns.end()) return row - 1;
  return wanted_ns - time_ns[row - 1] <= time_ns[row] - wanted_ns ? row - 1
                                                                  : row;
}

absl::StatusOr<std::vector<Interval>> LabelRows(
    const ScoreFile& scores, std::span<const data::LabelledEvent> labels) {
  std::vector<Interval> intervals;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto [start_ns, end_ns] =
        std::pair(labels[i].start_ns, labels[i].end_ns);
    intervals.push_back(RowsWithin(scores.time_ns, start_ns, end_ns));
    if (intervals.back().last >= intervals.back().first) continue;
    const auto text = [&scores](int64_t time_ns) {
      return data::FormatTimeStamp(time_ns, scores.time_form);
    };
    return absl::InvalidArgumentError(absl::StrFormat(
        "label %d, %s to %s, covers none of the scored rows, which run from %s "
        "to %s; do the two files belong together?",
        i + 1, text(start_ns), text(end_ns), text(scores.time_ns.front()),
        text(scores.time_ns.back())));
  }
  return intervals;
}

// A cause between two rows is at the nearer one; one that lies outside the file
// cannot be hit.
Interval CauseRows(const std::vector<int64_t>& time_ns,
                   const data::TimeRange& cause) {
  if (cause.end_ns < time_ns.front() || cause.start_ns > time_ns.back()) {
    constexpr int kNowhere = std::numeric_limits<int>::min() / 2;
    return {kNowhere, kNowhere};
  }
  const Interval rows = RowsWithin(time_ns, cause.start_ns, cause.end_ns);
  if (rows.last >= rows.first) return rows;
  const int nearest = NearestRow(time_ns, cause.start_ns);
  return {nearest, nearest};
}

// From each label's cause to its own start: an alarm there comes early, of a
// fault that is under way, and is not false.
std::vector<Interval> Excused(const ScoreFile& scores,
                              std::span<const data::LabelledEvent> labels) {
  std::vector<Interval> excused;
  for (const data::LabelledEvent& label : labels) {
    if (!label.cause) continue;
    const Interval rows =
        RowsWithin(scores.time_ns, label.cause->start_ns, label.start_ns);
    if (rows.first <= rows.last) excused.push_back(rows);
  }
  return excused;
}

// The alarmed row of highest score, the first of equal ones.
std::optional<int> StrongestAlarm(const ScoreFile& scores,
                                  const Interval& label) {
  const int strongest = StrongestRow(scores, label);
  if (scores.alarms[strongest] == 0) return std::nullopt;
  return strongest;
}

AttributedEvent EventOf(const ScoreFile& scores, const Interval& label,
                        const data::TimeRange& cause) {
  AttributedEvent event;
  event.cause = CauseRows(scores.time_ns, cause);
  event.alarm = StrongestAlarm(scores, label);
  if (!event.alarm) return event;
  const auto pointed = scores.causes_ns.find(*event.alarm);
  if (pointed == scores.causes_ns.end()) return event;
  for (const int64_t time_ns : pointed->second) {
    event.candidates.push_back(NearestRow(scores.time_ns, time_ns));
  }
  return event;
}

// The same events, each pointing to random earlier instants; many times over.
model::AttributionReport RandomAttribution(
    std::span<const AttributedEvent> events) {
  model::Random random(kSeed);
  std::vector<AttributedEvent> draws;
  for (int draw = 0; draw < kRandomDraws; ++draw) {
    for (AttributedEvent event : events) {
      event.candidates.clear();
      for (int i = 0; event.alarm && i < kCandidates; ++i) {
        const auto lag = model::kRecentInstants + 1 +
                         random.Below(kReach - model::kRecentInstants);
        event.candidates.push_back(*event.alarm - static_cast<int>(lag));
      }
      draws.push_back(std::move(event));
    }
  }
  model::AttributionReport report = model::ReportAttribution(draws);
  report.events /= kRandomDraws;
  report.found /= kRandomDraws;
  return report;
}

// The same events, each pointing to the highest of a control's scores before
// the alarm, no two of them within one tolerance.
model::AttributionReport PeakAttribution(
    std::span<const float> scores, std::span<const AttributedEvent> events) {
  std::vector<AttributedEvent> pointed(events.begin(), events.end());
  for (AttributedEvent& event : pointed) {
    event.candidates.clear();
    if (!event.alarm) continue;
    const int begin = std::max(0, *event.alarm - kReach);
    const int end = std::max(begin, *event.alarm - model::kRecentInstants);
    for (const int place : model::OrderOf(scores.subspan(
             static_cast<size_t>(begin), static_cast<size_t>(end - begin)))) {
      const int candidate = begin + place;
      if (std::ranges::any_of(event.candidates, [&](int other) {
            return std::abs(other - candidate) <= model::kCauseTolerance;
          })) {
        continue;
      }
      event.candidates.push_back(candidate);
      if (event.candidates.size() == kCandidates) break;
    }
  }
  return model::ReportAttribution(pointed);
}

absl::StatusOr<Detection> Detect(std::string name,
                                 std::span<const float> scores,
                                 std::span<const Interval> labels,
                                 std::span<const Interval> excused,
                                 int buffer) {
  Detection detection;
  detection.name = std::move(name);
  const auto vus = model::ComputeVus(scores, labels, buffer);
  if (!vus.ok()) return vus.status();
  detection.vus = *vus;
  const auto ranking = model::ComputeRanking(scores, labels);
  if (!ranking.ok()) return ranking.status();
  detection.ranking = *ranking;
  for (const double budget : kBudgets) {
    const auto threshold = model::ThresholdForBudget(
        scores, labels, budget, model::kEventDistance, excused);
    if (!threshold.ok()) return threshold.status();
    const auto report =
        model::ReportEvents(model::AlarmsOf(scores, *threshold), labels,
                            model::kEventDistance, excused);
    if (!report.ok()) return report.status();
    detection.recall_at.push_back(report->recall);
    if (budget != kKindBudget) continue;
    for (const std::optional<int>& alarm : report->first_alarm) {
      detection.found.push_back(alarm.has_value());
    }
  }
  return detection;
}

absl::StatusOr<Alarms> Judge(std::string name, std::span<const uint8_t> alarms,
                             std::span<const Interval> labels,
                             std::span<const Interval> excused) {
  Alarms judged;
  judged.name = std::move(name);
  auto events =
      model::ReportEvents(alarms, labels, model::kEventDistance, excused);
  if (!events.ok()) return events.status();
  judged.events = *std::move(events);
  if (labels.empty()) return judged;
  const auto affiliation = model::ComputeAffiliation(alarms, labels);
  if (!affiliation.ok()) return affiliation.status();
  judged.affiliation = *affiliation;
  return judged;
}

// As many alarms, at the highest of a control's scores.
Mask TopAlarms(std::span<const float> scores, int64_t count) {
  Mask alarms(scores.size(), 0);
  const std::vector<int> order = model::OrderOf(scores);
  for (int64_t i = 0; i < count; ++i) alarms[order[i]] = 1;
  return alarms;
}

MaskingEffect MeanMasking(const ScoreFile& scores) {
  MaskingEffect effect;
  effect.alarms = static_cast<int>(scores.masking.size());
  if (effect.alarms == 0) return effect;
  for (const auto& [row, masking] : scores.masking) {
    effect.pointed += masking.pointed;
    effect.random += masking.random;
  }
  effect.pointed /= effect.alarms;
  effect.random /= effect.alarms;
  return effect;
}

std::vector<KindReport> ReportKinds(
    const ScoreFile& scores, std::span<const data::LabelledEvent> labels,
    std::span<const Interval> rows, const model::EventReport& found,
    std::span<const Detection> detection,
    std::span<const std::optional<AttributedEvent>> events) {
  std::map<std::string, KindReport> kinds;
  std::map<std::string, std::vector<AttributedEvent>> attributed;
  for (size_t i = 0; i < labels.size(); ++i) {
    KindReport& report = kinds[labels[i].kind];
    report.kind = labels[i].kind;
    ++report.labels;
    report.found += found.first_alarm[i].has_value() ? 1 : 0;
    report.recall.resize(detection.size());
    for (size_t row = 0; row < detection.size(); ++row) {
      report.recall[row] += detection[row].found[i] ? 1 : 0;
    }
    if (events[i]) attributed[labels[i].kind].push_back(*events[i]);
    AddContribution(scores, labels[i], rows[i], report.contributions);
  }
  std::vector<KindReport> reports;
  if (kinds.size() == 1 && kinds.begin()->first.empty()) return reports;
  for (auto& [kind, report] : kinds) {
    report.attribution = model::ReportAttribution(attributed[kind]);
    for (double& recall : report.recall) recall /= report.labels;
    reports.push_back(report);
  }
  return reports;
}

absl::Status AddDetection(const ScoreFile& scores,
                          std::span<const Interval> rows,
                          std::span<const Interval> excused,
                          std::span<const model::Baseline> controls,
                          Evaluation& evaluation) {
  const auto judged = Judge("detector", scores.alarms, rows, excused);
  if (!judged.ok()) return judged.status();
  evaluation.alarms.push_back(*judged);
  if (rows.empty()) return absl::OkStatus();
  const auto own =
      Detect("detector", scores.scores, rows, excused, evaluation.buffer);
  if (!own.ok()) return own.status();
  evaluation.detection.push_back(*own);

  const int64_t alarm_count = std::ranges::count(scores.alarms, uint8_t{1});
  for (const model::Baseline& control : controls) {
    const auto detection =
        Detect(control.name, control.scores, rows, excused, evaluation.buffer);
    if (!detection.ok()) return detection.status();
    evaluation.detection.push_back(*detection);
    const auto alarms = Judge(
        control.name, TopAlarms(control.scores, alarm_count), rows, excused);
    if (!alarms.ok()) return alarms.status();
    evaluation.alarms.push_back(*alarms);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Evaluation> Evaluate(const ScoreFile& scores,
                                    std::span<const data::LabelledEvent> labels,
                                    std::span<const model::Baseline> baselines,
                                    int buffer) {
  const absl::StatusOr<std::vector<Interval>> rows = LabelRows(scores, labels);
  if (!rows.ok()) return rows.status();
  Evaluation evaluation;
  evaluation.instants = scores.length();
  evaluation.scored = scores.scored;
  evaluation.trained = scores.trained;
  evaluation.labels = static_cast<int>(labels.size());
  evaluation.buffer = buffer;
  evaluation.labelled = static_cast<int>(
      std::ranges::count(model::MaskOf(*rows, scores.length()), uint8_t{1}));

  std::vector<model::Baseline> controls = {
      model::RandomBaseline(scores.length(), kSeed)};
  controls.insert(controls.end(), baselines.begin(), baselines.end());
  if (absl::Status status = AddDetection(scores, *rows, Excused(scores, labels),
                                         controls, evaluation);
      !status.ok()) {
    return status;
  }

  std::vector<std::optional<AttributedEvent>> events;
  std::vector<AttributedEvent> attributed;
  for (size_t i = 0; i < labels.size(); ++i) {
    AddContribution(scores, labels[i], (*rows)[i], evaluation.contributions);
    events.emplace_back();
    if (!labels[i].cause) continue;
    events.back() = EventOf(scores, (*rows)[i], *labels[i].cause);
    attributed.push_back(*events.back());
  }
  if (!attributed.empty()) {
    evaluation.attribution = {
        {"detector", model::ReportAttribution(attributed)},
        {"random", RandomAttribution(attributed)}};
    for (const model::Baseline& control : baselines) {
      evaluation.attribution.push_back(
          {control.name, PeakAttribution(control.scores, attributed)});
    }
  }
  evaluation.masking = MeanMasking(scores);
  evaluation.kinds =
      ReportKinds(scores, labels, *rows, evaluation.alarms.front().events,
                  evaluation.detection, events);
  return evaluation;
}

}  // namespace telltale::server
