#pragma once

#include <cstdint>
#include <optional>

#include "data/simulator/coolant_loop.h"
#include "data/simulator/random.h"

namespace telltale::data {

// Instants `begin` to `end`, both included.
struct Interval {
  int64_t begin = 0;
  int64_t end = 0;

  bool Contains(int64_t t) const { return begin <= t && t <= end; }
  // Whether the two come within `margin` instants of each other.
  bool Touches(const Interval& other, int64_t margin) const {
    return begin - margin <= other.end && other.begin - margin <= end;
  }

  friend bool operator==(const Interval&, const Interval&) = default;
};

// What the fuel may carry through the cooling jacket.
enum class DisturbanceKind {
  // The pump's inlet pressure dips, since the tank's outlet gulps a little gas.
  // One transit later, the thinner fuel cools less: the chamber gets hotter.
  kDip,
  // The mixture valve is commanded away from its rest for a moment. One transit
  // later, the mixture ratio follows.
  kCommand,
};

// One such event: seen at once where it begins, and again where it arrives.
struct Disturbance {
  DisturbanceKind kind = DisturbanceKind::kDip;
  int64_t begin = 0;
  int64_t duration = 1;
  // When it shows in the chamber: begin + transit, give or take kLagJitter.
  int64_t arrival = 0;
  // kDip: depth, in typical deviations of the inlet pressure, positive.
  // kCommand: change of the valve's opening, in %, of either sign.
  double size = 0;
  // What arrives, in the same measure; equal to `size` in nominal operation.
  double arriving_size = 0;

  static constexpr int kLagJitter = 2;
  // How long the chamber remembers, after the last of it has arrived.
  static constexpr int kAftermath = 14;

  Interval Cause() const { return {begin, begin + duration - 1}; }
  Interval Effect() const { return {arrival, arrival + duration + kAftermath}; }

  // Its rise and fall: 0 outside [start, start + duration), at most 1. A dip is
  // round, a command is square.
  double ShapeAt(int64_t t, int64_t start) const;
};

// A disturbance of nominal size that begins at `begin`.
Disturbance DrawDisturbance(DisturbanceKind kind, int64_t begin,
                            CoolantLoop& loop, Random& random);

// Disturbances at random times, as they happen in nominal operation.
class DisturbanceSource {
 public:
  DisturbanceSource(DisturbanceKind kind, uint64_t seed);

  // The disturbance that begins at `t`, if one does. Call once for each instant
  // in turn.
  std::optional<Disturbance> Next(int64_t t, CoolantLoop& loop);

 private:
  DisturbanceKind kind_;
  Random random_;
  int64_t free_from_ = 0;  // the last one is over, and some rest
};

}  // namespace telltale::data
