#pragma once

#include <cstdint>
#include <deque>

#include "data/simulator/random.h"

namespace telltale::data {

// The fuel that cools the engine on its way to the chamber.
//
// What happens at the pump inlet or at the mixture valve travels with the fuel
// through the cooling jacket, a fixed volume, and shows in the chamber one
// transit later: transit = volume / flow, taken at the moment of the cause.
// The flow wanders slowly (over hundreds of instants), so that the transit lies
// between 30 and 90 instants; about a tenth of the time the loop idles in a
// low-flow regime and the transit is 110 to 200 instants. Between the regimes
// the flow ramps over 300 instants, slowly enough that no slug of fuel ever
// overtakes an earlier one.
class CoolantLoop {
 public:
  // Flow times transit, in kg.
  static constexpr double kVolume = 90;
  static constexpr int kMaxTransit = 200;

  explicit CoolantLoop(uint64_t seed);

  // The flow at instant `t`, in kg/s. Computes ahead as far as asked and
  // forgets what Forget allows. REQUIRES: `t` not forgotten.
  double Flow(int64_t t);

  // The nearest whole number of instants to kVolume / Flow(t).
  int64_t Transit(int64_t t);

  // Instants before `t` will not be asked for again.
  void Forget(int64_t t);

 private:
  double NextFlow();
  double NextIdling();

  Random random_;
  Fluctuation wander_;
  double smoothed_ = 0;
  int64_t regime_left_;  // instants until the regime changes
  bool to_idle_ = false;
  int ramp_ = 0;  // 0: normal flow; kRampLength: idling

  int64_t first_ = 0;  // the instant of flows_.front()
  std::deque<double> flows_;
};

}  // namespace telltale::data
