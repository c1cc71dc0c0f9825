#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "data/simulator/coolant_loop.h"
#include "data/simulator/disturbance.h"
#include "data/simulator/engine_channels.h"
#include "data/simulator/random.h"

namespace telltale::data {

enum class FaultKind {
  // With an earlier cause, one transit before the effect:
  kPressureDrop,     // a dip far deeper than nominal; the pump cavitates, and
                     // the temperature rises by more than in proportion
  kGain,             // a nominal dip heats the chamber 2.5 times too much
  kMissingEffect,    // a nominal dip whose temperature rise never comes
  kMissingResponse,  // a command that the mixture ratio never follows
  kChangedLag,  // a nominal dip that arrives 20 to 40 instants off its time

  // Without one:
  kStuckValve,       // the valve does not move when commanded (so that a
                     // kMissingResponse follows, a fault of its own)
  kDrift,            // one sensor slides away, stays a while, comes back
  kSpike,            // one sensor jumps for 1 to 3 instants
  kLostCorrelation,  // thrust fluctuates, but not with chamber pressure
  kBusSag,           // the bus voltage sags
};

// "pressure_drop", "gain", ...
std::string_view FaultKindName(FaultKind kind);

// One injected fault.
struct Fault {
  FaultKind kind = FaultKind::kSpike;
  // Where it shows: the excursion itself; where the effect was due, if it does
  // not come; from the earlier to the later of both, if it comes off its time.
  Interval effect;
  EngineChannel channel = kPumpInletPressure;  // on which it shows
  // The dip or command behind it, and whether it has one.
  std::optional<Disturbance> cause;
  // Without a cause: size and sign, in typical deviations of the channel.
  double size = 0;

  // REQUIRES: cause.
  EngineChannel cause_channel() const {
    return cause->kind == DisturbanceKind::kDip ? kPumpInletPressure
                                                : kValveCommand;
  }
};

// Draws faults for a run of `steps` instants: none before kQuiet, each over
// before the next begins and by 180 to 420 instants apart, all over before the
// run ends. Seven in twenty are pressure drops; in every twenty consecutive
// draws each kind occurs, in random order.
class FaultPlanner {
 public:
  static constexpr int64_t kQuiet = 1000;
  // A fault is planned once its beginning comes this near.
  static constexpr int64_t kLookAhead = 320;

  // `loop` must outlive the planner.
  FaultPlanner(uint64_t seed, int64_t steps, CoolantLoop& loop);

  // Plans the faults that begin before t + kLookAhead, in order of time.
  // REQUIRES: `t` does not fall from call to call.
  void PlanUntil(int64_t t);

  // All planned so far.
  const std::vector<Fault>& faults() const { return faults_; }

  // Whether the nominal disturbance would blur a fault: both begin, or both
  // arrive, at nearly the same time and in the same channels.
  bool Blurs(const Disturbance& nominal) const;

 private:
  FaultKind DrawKind();
  void Plan(FaultKind kind, int64_t begin);
  Fault DrawDipFault(FaultKind kind, int64_t begin);
  Fault DrawCommandFault(int64_t begin);
  Fault DrawSensorFault(FaultKind kind, int64_t begin);

  const int64_t steps_;
  CoolantLoop& loop_;
  Random random_;
  std::vector<FaultKind> bag_;  // what is left of the twenty
  int64_t next_begin_;
  std::vector<Fault> faults_;
};

}  // namespace telltale::data
