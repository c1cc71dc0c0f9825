#include "data/simulator/engine.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace telltale::data {
namespace {

// Throttle setting about which the sensors' laws are linear.
constexpr double kMiddle = 0.8;

// What one unit of a dip (a typical deviation of the inlet pressure) does.
constexpr double kInletPerDip = 7;             // kPa, at once
constexpr double kChamberPressurePerDip = 60;  // kPa, at once
constexpr double kVibrationPerDip = 0.25;      // g, at once
constexpr double kHeatPerDip = 15;             // K, one transit later
constexpr double kMixturePerPercent = 0.012;   // of valve, one transit later

constexpr double kHeatInertia = 4;
constexpr double kBlendInertia = 2.5;
constexpr double kWallInertia = 40;
constexpr double kSpeedInertia = 3;
constexpr double kChamberInertia = 3;
constexpr double kThrustInertia = 2;
constexpr double kValveInertia = 1.5;

constexpr double kFullDrain = 0.012;  // % of the tank an instant at throttle 1
constexpr double kRefill = 0.06;
constexpr double kRefillBelow = 25;
constexpr double kRefillTo = 92;

double SteadySpeed(double throttle) { return 9000 + 15000 * throttle; }
double SteadyChamberPressure(double speed) {
  return 2000 + 8000 * (speed - 9000) / 15000;
}
double SteadyThrust(double chamber_pressure) {
  return 0.012 * chamber_pressure;
}
double ValveRest(double throttle) {
  return std::floor(10 * (42 + 10 * throttle) + 0.5) / 10;
}

// How far a fault of `size` has unfolded: slides and comes back (drift), jumps
// (spike), sinks and recovers (sag).
double Unfolded(const Fault& fault, int64_t t) {
  const double age = static_cast<double>(t - fault.effect.begin) + 1;
  const double left = static_cast<double>(fault.effect.end - t) + 1;
  const double length = age + left - 1;
  switch (fault.kind) {
    case FaultKind::kDrift:
      return std::min({1.0, age / (0.7 * length), left / 9});
    case FaultKind::kSpike:
      return 1;
    case FaultKind::kBusSag:
      return std::min({1.0, age / 3, left / 5});
    default:
      return 0;
  }
}

}  // namespace

Engine::Engine(const Options& options)
    : options_(options),
      loop_(options.seed),
      throttle_(options.seed),
      dips_(DisturbanceKind::kDip, options.seed),
      commands_(DisturbanceKind::kCommand, options.seed),
      planner_(options.seed, options.faults ? options.steps : 0, loop_),
      turbulence_(options.seed, 6),
      noise_(options.seed, 7),
      inlet_fluctuation_(200, 3, turbulence_),
      speed_fluctuation_(25, 500, turbulence_),
      pressure_fluctuation_(40, 60, turbulence_),
      temperature_fluctuation_(150, 3, turbulence_),
      mixture_fluctuation_(120, 0.018, turbulence_),
      voltage_fluctuation_(60, 0.12, turbulence_),
      loose_thrust_(25, 3.3, turbulence_) {
  Settle();
}

// Starts every inertia where it would have come to rest.
void Engine::Settle() {
  const double throttle = throttle_.Next();
  speed_.value = SteadySpeed(throttle);
  chamber_pressure_.value = SteadyChamberPressure(speed_.value);
  thrust_.value = SteadyThrust(chamber_pressure_.value);
  wall_.value = throttle;
  valve_.value = ValveRest(throttle);
}

bool Engine::Next(std::span<float> instant) {
  assert(instant.size() == kEngineChannelCount);
  if (now_ >= options_.steps) return false;
  planner_.PlanUntil(now_);
  BeginDisturbances();

  Readings readings = {};
  const double throttle = throttle_.Next();
  Propel(throttle, Beginning(DisturbanceKind::kDip), readings);
  Mix(throttle, readings);
  Heat(throttle, readings);
  Supply(throttle, readings);
  Disturb(readings);
  Measure(readings, instant);

  ++now_;
  loop_.Forget(now_);
  return true;
}

void Engine::BeginDisturbances() {
  std::erase_if(disturbances_, [this](const Disturbance& past) {
    return past.arrival + past.duration < now_;
  });
  std::erase_if(active_faults_,
                [this](const Fault& past) { return past.effect.end < now_; });
  for (DisturbanceSource* source : {&dips_, &commands_}) {
    const std::optional<Disturbance> nominal = source->Next(now_, loop_);
    if (nominal && !planner_.Blurs(*nominal)) disturbances_.push_back(*nominal);
  }
  const std::vector<Fault>& faults = planner_.faults();
  while (next_fault_ < faults.size()) {
    const Fault& fault = faults[next_fault_];
    const int64_t begin = fault.cause ? fault.cause->begin : fault.effect.begin;
    if (begin > now_) break;
    if (fault.cause) disturbances_.push_back(*fault.cause);
    active_faults_.push_back(fault);
    ++next_fault_;
  }
}

double Engine::Beginning(DisturbanceKind kind) const {
  double sum = 0;
  for (const Disturbance& each : disturbances_) {
    if (each.kind == kind) sum += each.size * each.ShapeAt(now_, each.begin);
  }
  return sum;
}

double Engine::Arriving(DisturbanceKind kind) const {
  double sum = 0;
  for (const Disturbance& each : disturbances_) {
    if (each.kind != kind) continue;
    sum += each.arriving_size * each.ShapeAt(now_, each.arrival);
  }
  return sum;
}

// Throttle -> pump -> chamber -> thrust, and what shakes and loads with them.
void Engine::Propel(double throttle, double dip, Readings& readings) {
  const double fluctuation = speed_fluctuation_.Next(turbulence_);
  const double speed =
      speed_.Follow(SteadySpeed(throttle) + fluctuation, kSpeedInertia);
  const double pressure =
      chamber_pressure_.Follow(
          SteadyChamberPressure(speed) - kChamberPressurePerDip * dip,
          kChamberInertia) +
      pressure_fluctuation_.Next(turbulence_);
  const double thrust = thrust_.Follow(SteadyThrust(pressure), kThrustInertia);
  // Drawn in every instant, so that a fault shifts no later draw.
  const double loose = loose_thrust_.Next(turbulence_);
  const bool lost = ActiveFault(FaultKind::kLostCorrelation) != nullptr;
  if (!lost) held_thrust_ = thrust;

  const double off_resonance = (speed - 20500) / 1200;
  readings[kPumpSpeed] = speed;
  readings[kChamberPressure] = pressure;
  readings[kThrust] = lost ? held_thrust_ + loose : thrust;
  readings[kVibration] = 0.4 + 1.6 * throttle * throttle * throttle +
                         0.6 / (1 + off_resonance * off_resonance) +
                         kVibrationPerDip * dip;
  readings[kPumpInletPressure] = 420 - 40 * (throttle - kMiddle) +
                                 inlet_fluctuation_.Next(turbulence_) -
                                 kInletPerDip * dip;
}

// Valve command -> valve position at once, mixture ratio one transit later.
void Engine::Mix(double throttle, Readings& readings) {
  const double command =
      ValveRest(throttle) + Beginning(DisturbanceKind::kCommand);
  readings[kValveCommand] = command;
  // A stuck valve stays where it is; the one below moves after the instant's
  // command has been seen, hence the value before Follow.
  readings[kValvePosition] = valve_.value;
  if (ActiveFault(FaultKind::kStuckValve) == nullptr) {
    valve_.Follow(command, kValveInertia);
  }
  const double arrived = blend_.Follow(
      blend_in_.Follow(Arriving(DisturbanceKind::kCommand), kBlendInertia),
      kBlendInertia);
  readings[kMixtureRatio] = 5.8 - 0.1 * (throttle - kMiddle) +
                            mixture_fluctuation_.Next(turbulence_) +
                            kMixturePerPercent * arrived;
}

// A dip of the inlet pressure -> the chamber gets hotter one transit later.
void Engine::Heat(double throttle, Readings& readings) {
  const double arrived = heat_.Follow(
      heat_in_.Follow(Arriving(DisturbanceKind::kDip), kHeatInertia),
      kHeatInertia);
  readings[kChamberTemperature] =
      3150 + 55 * (wall_.Follow(throttle, kWallInertia) - kMiddle) +
      temperature_fluctuation_.Next(turbulence_) + kHeatPerDip * arrived;
  readings[kCoolantFlow] = loop_.Flow(now_);
}

void Engine::Supply(double throttle, Readings& readings) {
  if (tank_level_ < kRefillBelow) refilling_ = true;
  if (tank_level_ > kRefillTo) refilling_ = false;
  tank_level_ += (refilling_ ? kRefill : 0) - kFullDrain * throttle;
  readings[kTankLevel] = tank_level_;
  readings[kBusVoltage] =
      28.2 - 0.8 * (throttle - kMiddle) +
      voltage_fluctuation_.Next(turbulence_) -
      0.02 * std::fabs(readings[kValveCommand] - readings[kValvePosition]);
}

// Faults of the sensors and the bus, on top of what the engine does.
void Engine::Disturb(Readings& readings) {
  for (const Fault& fault : active_faults_) {
    if (fault.effect.Contains(now_)) ApplyFault(fault, readings);
  }
}

void Engine::ApplyFault(const Fault& fault, Readings& readings) {
  readings[fault.channel] +=
      fault.size * TypicalDeviation(fault.channel) * Unfolded(fault, now_);
}

const Fault* Engine::ActiveFault(FaultKind kind) const {
  for (const Fault& fault : active_faults_) {
    if (fault.kind == kind && fault.effect.Contains(now_)) return &fault;
  }
  return nullptr;
}

void Engine::Measure(const Readings& readings, std::span<float> instant) {
  constexpr std::array<double, kEngineChannelCount> kNoise = {
      1.0, 60, 40, 1.2, 0.01, 0, 0.15, 0.008, 0.03, 0.04, 0.4, 0.1};
  for (int channel = 0; channel < kEngineChannelCount; ++channel) {
    double noise = kNoise[channel] * noise_.Normal();
    // Vibration is noise itself: its spread grows with its level; so does the
    // flow meter's error.
    if (channel == kVibration) noise *= 1 + 2 * readings[kVibration];
    if (channel == kCoolantFlow) noise *= readings[kCoolantFlow];
    instant[channel] = Digitise(static_cast<EngineChannel>(channel),
                                readings[channel] + noise);
  }
}

}  // namespace telltale::data
