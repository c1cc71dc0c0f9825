#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "data/simulator/coolant_loop.h"
#include "data/simulator/disturbance.h"
#include "data/simulator/engine_channels.h"
#include "data/simulator/fault.h"
#include "data/simulator/random.h"
#include "data/simulator/throttle.h"

namespace telltale::data {

// A liquid-fuel rocket engine on its stand, one instant (1 s) at a time.
//
// At once, or within a few instants:
//   throttle -> pump speed -> chamber pressure -> thrust, each following the
//   one before it with its own inertia; pump speed -> vibration (with a
//   resonance) and bus voltage; valve command -> valve position; a dip of the
//   inlet pressure -> vibration and a little chamber pressure.
// One transit of the coolant loop later (30 to 90 instants as the flow wanders,
// 110 to 200 in the low-flow regime, give or take 2; see CoolantLoop):
//   a dip of the inlet pressure -> the chamber temperature rises in proportion;
//   a valve command -> the mixture ratio follows.
// Every sensor has noise and a finite step.
//
// The same options give the same bits on every machine: the arithmetic is
// exact IEEE, without a call into the mathematics library. With faults
// or without, the same seed gives the same flight until 100 instants before the
// first fault; about a fault, nominal disturbances that would blur it are left
// out.
class Engine {
 public:
  struct Options {
    uint64_t seed = 0;
    int64_t steps = 0;  // how many instants there will be
    bool faults = false;
  };

  explicit Engine(const Options& options);

  // Writes the samples of the next instant, in the order of EngineChannels();
  // false after the last. REQUIRES: instant.size() == kEngineChannelCount.
  bool Next(std::span<float> instant);

  // The faults of the run. Complete once Next has returned false.
  const std::vector<Fault>& faults() const { return planner_.faults(); }

 private:
  // What the sensors measure, before their noise.
  using Readings = std::array<double, kEngineChannelCount>;

  // A first-order lag: follows its input with a time constant in instants.
  struct Inertia {
    double value = 0;
    double Follow(double input, double time_constant) {
      value += (input - value) / time_constant;
      return value;
    }
  };

  void BeginDisturbances();
  // The sum of the shapes of all disturbances of `kind`, as they begin and as
  // they arrive.
  double Beginning(DisturbanceKind kind) const;
  double Arriving(DisturbanceKind kind) const;

  void Settle();
  void Propel(double throttle, double dip, Readings& readings);
  void Mix(double throttle, Readings& readings);
  void Heat(double throttle, Readings& readings);
  void Supply(double throttle, Readings& readings);
  void Disturb(Readings& readings);
  const Fault* ActiveFault(FaultKind kind) const;
  void ApplyFault(const Fault& fault, Readings& readings);
  void Measure(const Readings& readings, std::span<float> instant);

  const Options options_;
  int64_t now_ = 0;

  CoolantLoop loop_;
  Throttle throttle_;
  DisturbanceSource dips_;
  DisturbanceSource commands_;
  FaultPlanner planner_;
  std::vector<Disturbance> disturbances_;  // begun or about to, not yet over
  size_t next_fault_ = 0;                  // the first not yet begun
  std::vector<Fault> active_faults_;

  Random turbulence_;  // drives the fluctuations
  Random noise_;       // of the sensors
  Fluctuation inlet_fluctuation_;
  Fluctuation speed_fluctuation_;
  Fluctuation pressure_fluctuation_;
  Fluctuation temperature_fluctuation_;
  Fluctuation mixture_fluctuation_;
  Fluctuation voltage_fluctuation_;
  Fluctuation loose_thrust_;  // what thrust does when it has lost its cause

  Inertia speed_;
  Inertia chamber_pressure_;
  Inertia thrust_;
  Inertia wall_;            // temperature's slow part
  Inertia heat_in_, heat_;  // what has arrived: two walls in a row
  Inertia blend_in_, blend_;
  Inertia valve_;
  double held_thrust_ = 0;
  double tank_level_ = 90;
  bool refilling_ = false;
};

}  // namespace telltale::data
