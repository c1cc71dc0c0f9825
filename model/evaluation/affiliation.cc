#include "model/evaluation/affiliation.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "model/evaluation/events.h"

namespace telltale::model {
namespace {

// A stretch of continuous time, [begin, end).
struct Stretch {
  double begin = 0;
  double end = 0;

  double length() const { return end - begin; }
};

std::vector<Stretch> StretchesOf(std::span<const uint8_t> mask) {
  std::vector<Stretch> stretches;
  for (const Interval& interval : IntervalsOf(mask)) {
    stretches.push_back({static_cast<double>(interval.first),
                         static_cast<double>(interval.last) + 1});
  }
  return stretches;
}

// The part of each stretch that lies within `zone`, where there is any.
std::vector<Stretch> Within(std::span<const Stretch> stretches,
                            const Stretch& zone) {
  std::vector<Stretch> parts;
  for (const Stretch& stretch : stretches) {
    const Stretch part{std::max(stretch.begin, zone.begin),
                       std::min(stretch.end, zone.end)};
    if (part.begin < part.end) parts.push_back(part);
  }
  return parts;
}

// The integral over [begin, end) of a function that is linear between the
// points of `knots`; those outside are ignored.
template <typename Function>
double Integrate(double begin, double end, std::vector<double> knots,
                 const Function& function) {
  std::erase_if(knots, [=](double x) { return x <= begin || x >= end; });
  knots.push_back(end);
  std::ranges::sort(knots);
  double integral = 0;
  double from = begin;
  for (const double to : knots) {
    // The midpoint is exact for a linear piece, and does not ask for values at
    // knots, where the function may jump.
    integral += (to - from) * function((from + to) / 2);
    from = to;
  }
  return integral;
}

// How likely a uniform instant of `zone` is further from `label` than the
// alarmed instants are, on average over these.
double ZonePrecision(const Stretch& zone, const Stretch& label,
                     std::span<const Stretch> alarms) {
  const double before = label.begin - zone.begin;
  const double after = zone.end - label.end;
  const auto survival = [&](double x) {
    const double distance = std::max({label.begin - x, x - label.end, 0.0});
    if (distance == 0) return 1.0;
    return (std::max(before - distance, 0.0) +
            std::max(after - distance, 0.0)) /
           zone.length();
  };
  const std::vector<double> knots = {label.begin, label.end,
                                     label.begin - after, label.end + before};
  double sum = 0;
  double length = 0;
  for (const Stretch& alarm : alarms) {
    sum += Integrate(alarm.begin, alarm.end, knots, survival);
    length += alarm.length();
  }
  return sum / length;
}

// How likely a uniform instant of `zone` is further from the labelled instants
// than the nearest alarm is, on average over these.
double ZoneRecall(const Stretch& zone, const Stretch& label,
                  std::span<const Stretch> alarms) {
  const auto distance_to_alarm = [&](double y) {
    double nearest = std::numeric_limits<double>::infinity();
    for (const Stretch& alarm : alarms) {
      nearest =
          std::min(nearest, std::max({alarm.begin - y, y - alarm.end, 0.0}));
    }
    return nearest;
  };
  const auto survival = [&](double y) {
    const double distance = distance_to_alarm(y);
    return (std::max(y - distance - zone.begin, 0.0) +
            std::max(zone.end - y - distance, 0.0)) /
           zone.length();
  };
  // The distance bends at an alarm's ends and half-way between two alarms; the
  // reach of a distance leaves the zone half-way between alarm and border.
  std::vector<double> knots;
  for (size_t i = 0; i < alarms.size(); ++i) {
    const Stretch& alarm = alarms[i];
    knots.insert(knots.end(),
                 {alarm.begin, alarm.end, (zone.begin + alarm.begin) / 2,
                  (zone.end + alarm.end) / 2});
    if (i > 0) knots.push_back((alarms[i - 1].end + alarm.begin) / 2);
  }
  return Integrate(label.begin, label.end, knots, survival) / label.length();
}

}  // namespace

absl::StatusOr<Affiliation> ComputeAffiliation(
    std::span<const uint8_t> alarms, std::span<const Interval> labels) {
  const int length = static_cast<int>(alarms.size());
  if (absl::Status status = CheckIntervals(labels, length); !status.ok()) {
    return status;
  }
  if (labels.empty()) {
    return absl::InvalidArgumentError("affiliation needs at least one label");
  }
  const std::vector<Stretch> truths = StretchesOf(MaskOf(labels, length));
  const std::vector<Stretch> alarmed = StretchesOf(alarms);
  Affiliation result;
  int zones_with_alarms = 0;
  Stretch zone;
  for (size_t i = 0; i < truths.size(); ++i) {
    zone.begin = zone.end;
    zone.end = i + 1 < truths.size() ? (truths[i].end + truths[i + 1].begin) / 2
                                     : static_cast<double>(length);
    const std::vector<Stretch> here = Within(alarmed, zone);
    if (here.empty()) continue;
    ++zones_with_alarms;
    result.precision += ZonePrecision(zone, truths[i], here);
    result.recall += ZoneRecall(zone, truths[i], here);
  }
  if (zones_with_alarms > 0) result.precision /= zones_with_alarms;
  result.recall /= static_cast<double>(truths.size());
  result.f1 = FScore(result.precision, result.recall, 1);
  return result;
}

}  // namespace telltale::model
