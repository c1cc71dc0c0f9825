#include "model/evaluation/attribution.h"

namespace telltale::model {

std::optional<int> RankOfCause(const AttributedEvent& event, int tolerance,
                               int recent) {
  if (!event.alarm.has_value()) return std::nullopt;
  const Interval target{event.cause.first - tolerance,
                        event.cause.last + tolerance};
  int rank = 0;
  for (const int candidate : event.candidates) {
    if (*event.alarm - candidate <= recent) continue;
    ++rank;
    if (target.Contains(candidate)) return rank;
  }
  return std::nullopt;
}

AttributionReport ReportAttribution(std::span<const AttributedEvent> events,
                                    int tolerance, int recent) {
  AttributionReport report;
  report.events = static_cast<int>(events.size());
  if (events.empty()) return report;
  const double share = 1 / static_cast<double>(events.size());
  for (const AttributedEvent& event : events) {
    report.found += event.alarm.has_value() ? 1 : 0;
    const std::optional<int> rank = RankOfCause(event, tolerance, recent);
    if (!rank.has_value()) continue;
    report.hit_at_1 += *rank <= 1 ? share : 0;
    report.hit_at_3 += *rank <= 3 ? share : 0;
    report.hit_at_5 += *rank <= 5 ? share : 0;
    report.mean_reciprocal_rank += share / *rank;
  }
  return report;
}

}  // namespace telltale::model
