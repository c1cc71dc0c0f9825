#pragma once

#include <optional>
#include <span>
#include <vector>

#include "model/evaluation/interval.h"

namespace telltale::model {

// Candidates so few instants before the alarm, or fewer, do not count: to point
// at the effect itself explains nothing.
inline constexpr int kRecentInstants = 8;
// How far from the cause a hit may lie.
inline constexpr int kCauseTolerance = 3;

// A labelled effect whose cause is known, and what the detector said of it.
struct AttributedEvent {
  Interval cause;
  // The alarmed instant of highest score within the label; none when the label
  // went unnoticed, which is a miss.
  std::optional<int> alarm;
  // The earlier instants pointed at from there, strongest first.
  std::vector<int> candidates;
};

// Shares of all events, those unnoticed included.
struct AttributionReport {
  int events = 0;
  int found = 0;
  double hit_at_1 = 0;
  double hit_at_3 = 0;
  double hit_at_5 = 0;
  double mean_reciprocal_rank = 0;
};

// The place, from 1, of the first candidate within `tolerance` instants of the
// cause, once the recent ones have been struck off; none when there is no such
// candidate or no alarm.
std::optional<int> RankOfCause(const AttributedEvent& event,
                               int tolerance = kCauseTolerance,
                               int recent = kRecentInstants);

AttributionReport ReportAttribution(std::span<const AttributedEvent> events,
                                    int tolerance = kCauseTolerance,
                                    int recent = kRecentInstants);

}  // namespace telltale::model
