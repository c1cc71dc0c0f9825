#include "data/simulator/disturbance.h"

#include <algorithm>

namespace telltale::data {
namespace {

// After each disturbance a rest, then one begins at any instant with the same
// chance: on average a dip each 150 instants and a command each 250.
struct Frequency {
  int64_t rest;
  double chance;
};

constexpr Frequency FrequencyOf(DisturbanceKind kind) {
  return kind == DisturbanceKind::kDip ? Frequency{40, 0.01}
                                       : Frequency{60, 1.0 / 180};
}

}  // namespace

double Disturbance::ShapeAt(int64_t t, int64_t start) const {
  if (t < start || t >= start + duration) return 0;
  if (kind == DisturbanceKind::kCommand) return 1;
  const double u =
      (static_cast<double>(t - start) + 0.5) / static_cast<double>(duration);
  // A parabola with its shoulders filled: steep flanks, a flat middle.
  return std::min(1.0, 6 * u * (1 - u));
}

Disturbance DrawDisturbance(DisturbanceKind kind, int64_t begin,
                            CoolantLoop& loop, Random& random) {
  Disturbance drawn;
  drawn.kind = kind;
  drawn.begin = begin;
  if (kind == DisturbanceKind::kDip) {
    drawn.duration = random.Integer(6, 14);
    drawn.size = random.Uniform(1.0, 2.5);
  } else {
    drawn.duration = random.Integer(10, 20);
    const double sign = random.Uniform() < 0.5 ? -1 : 1;
    // Commands are sent in tenths of a percent.
    drawn.size = sign * static_cast<double>(random.Integer(60, 150)) / 10;
  }
  drawn.arriving_size = drawn.size;
  drawn.arrival =
      begin + loop.Transit(begin) +
      random.Integer(-Disturbance::kLagJitter, Disturbance::kLagJitter);
  return drawn;
}

DisturbanceSource::DisturbanceSource(DisturbanceKind kind, uint64_t seed)
    : kind_(kind), random_(seed, kind == DisturbanceKind::kDip ? 2 : 3) {}

std::optional<Disturbance> DisturbanceSource::Next(int64_t t,
                                                   CoolantLoop& loop) {
  const Frequency frequency = FrequencyOf(kind_);
  if (t < free_from_ || random_.Uniform() >= frequency.chance) {
    return std::nullopt;
  }
  const Disturbance drawn = DrawDisturbance(kind_, t, loop, random_);
  free_from_ = t + drawn.duration + frequency.rest;
  return drawn;
}

}  // namespace telltale::data
