#include "data/simulator/fault.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace telltale::data {
namespace {

constexpr int64_t kShortestGap = 180;
constexpr int64_t kLongestGap = 420;
constexpr int64_t kBlurMargin = 25;

constexpr std::array<std::pair<FaultKind, int>, 10> kKindsInTwenty = {{
    {FaultKind::kPressureDrop, 7},
    {FaultKind::kGain, 2},
    {FaultKind::kMissingEffect, 2},
    {FaultKind::kMissingResponse, 2},
    {FaultKind::kChangedLag, 2},
    {FaultKind::kStuckValve, 1},
    {FaultKind::kDrift, 1},
    {FaultKind::kSpike, 1},
    {FaultKind::kLostCorrelation, 1},
    {FaultKind::kBusSag, 1},
}};

// Channels whose sensors may drift: those that others determine closely.
constexpr std::array kDrifting = {kPumpSpeed, kChamberPressure, kThrust,
                                  kBusVoltage, kMixtureRatio};
constexpr std::array kSpiking = {
    kPumpInletPressure, kPumpSpeed,     kChamberPressure, kChamberTemperature,
    kCoolantFlow,       kValvePosition, kMixtureRatio,    kVibration,
    kBusVoltage,        kThrust,        kTankLevel};

// Beyond a depth of 2.5 the pump cavitates, and what arrives grows faster.
double Cavitated(double depth) {
  return depth + 0.8 * std::max(0.0, depth - 2.5);
}

}  // namespace

std::string_view FaultKindName(FaultKind kind) {
  switch (kind) {
    case FaultKind::kPressureDrop:
      return "pressure_drop";
    case FaultKind::kGain:
      return "gain";
    case FaultKind::kMissingEffect:
      return "missing_effect";
    case FaultKind::kMissingResponse:
      return "missing_response";
    case FaultKind::kChangedLag:
      return "changed_lag";
    case FaultKind::kStuckValve:
      return "stuck_valve";
    case FaultKind::kDrift:
      return "drift";
    case FaultKind::kSpike:
      return "spike";
    case FaultKind::kLostCorrelation:
      return "lost_correlation";
    case FaultKind::kBusSag:
      return "bus_sag";
  }
  return "unknown";
}

FaultPlanner::FaultPlanner(uint64_t seed, int64_t steps, CoolantLoop& loop)
    : steps_(steps),
      loop_(loop),
      random_(seed, 4),
      next_begin_(kQuiet + random_.Integer(0, kShortestGap)) {}

void FaultPlanner::PlanUntil(int64_t t) {
  while (next_begin_ < t + kLookAhead && next_begin_ < steps_) {
    const size_t planned = faults_.size();
    Plan(DrawKind(), next_begin_);
    const int64_t end = faults_.back().effect.end;
    if (end >= steps_) {
      faults_.resize(planned);
      next_begin_ = steps_;
      return;
    }
    next_begin_ = end + random_.Integer(kShortestGap, kLongestGap);
  }
}

bool FaultPlanner::Blurs(const Disturbance& nominal) const {
  // Faults are in order of time: from the latest back to those long over.
  for (auto fault = faults_.rbegin(); fault != faults_.rend(); ++fault) {
    if (fault->effect.end + kBlurMargin < nominal.begin) return false;
    if (!fault->cause || fault->cause->kind != nominal.kind) continue;
    if (fault->cause->Cause().Touches(nominal.Cause(), kBlurMargin) ||
        fault->effect.Touches(nominal.Effect(), kBlurMargin)) {
      return true;
    }
  }
  return false;
}

FaultKind FaultPlanner::DrawKind() {
  if (bag_.empty()) {
    for (const auto& [kind, count] : kKindsInTwenty) {
      bag_.insert(bag_.end(), count, kind);
    }
  }
  const int64_t last = static_cast<int64_t>(bag_.size()) - 1;
  std::swap(bag_[random_.Integer(0, last)], bag_[last]);
  const FaultKind kind = bag_.back();
  bag_.pop_back();
  return kind;
}

void FaultPlanner::Plan(FaultKind kind, int64_t begin) {
  switch (kind) {
    case FaultKind::kPressureDrop:
    case FaultKind::kGain:
    case FaultKind::kMissingEffect:
    case FaultKind::kChangedLag:
      faults_.push_back(DrawDipFault(kind, begin));
      return;
    case FaultKind::kMissingResponse:
      faults_.push_back(DrawCommandFault(begin));
      return;
    case FaultKind::kStuckValve: {
      const Fault unanswered = DrawCommandFault(begin);
      Fault stuck;
      stuck.kind = kind;
      stuck.effect = unanswered.cause->Cause();
      stuck.channel = kValvePosition;
      faults_.push_back(stuck);
      faults_.push_back(unanswered);
      return;
    }
    case FaultKind::kDrift:
    case FaultKind::kSpike:
    case FaultKind::kLostCorrelation:
    case FaultKind::kBusSag:
      faults_.push_back(DrawSensorFault(kind, begin));
      return;
  }
}

Fault FaultPlanner::DrawDipFault(FaultKind kind, int64_t begin) {
  Disturbance dip =
      DrawDisturbance(DisturbanceKind::kDip, begin, loop_, random_);
  // Shallow dips would leave little to see of what is wrong with them.
  dip.size = random_.Uniform(1.4, 2.5);
  dip.arriving_size = dip.size;
  Interval effect = dip.Effect();
  if (kind == FaultKind::kPressureDrop) {
    dip.size = random_.Uniform(4.4, 7.0);
    dip.arriving_size = Cavitated(dip.size);
  } else if (kind == FaultKind::kGain) {
    dip.arriving_size = 2.5 * dip.size;
  } else if (kind == FaultKind::kMissingEffect) {
    dip.arriving_size = 0;
  } else {
    assert(kind == FaultKind::kChangedLag);
    const int64_t shift = random_.Integer(20, 40);
    // Never before the dip is over.
    const bool can_be_early = dip.arrival - shift > begin + dip.duration;
    const bool early = random_.Uniform() < 0.5 && can_be_early;
    dip.arrival += early ? -shift : shift;
    effect = {std::min(effect.begin, dip.arrival),
              std::max(effect.end, dip.Effect().end)};
  }
  return {.kind = kind,
          .effect = effect,
          .channel = kChamberTemperature,
          .cause = dip};
}

Fault FaultPlanner::DrawCommandFault(int64_t begin) {
  Disturbance command =
      DrawDisturbance(DisturbanceKind::kCommand, begin, loop_, random_);
  command.arriving_size = 0;
  return {.kind = FaultKind::kMissingResponse,
          .effect = command.Effect(),
          .channel = kMixtureRatio,
          .cause = command};
}

Fault FaultPlanner::DrawSensorFault(FaultKind kind, int64_t begin) {
  Fault fault;
  fault.kind = kind;
  const double sign = random_.Uniform() < 0.5 ? -1 : 1;
  int64_t duration = 0;
  if (kind == FaultKind::kDrift) {
    fault.channel = kDrifting[random_.Integer(0, kDrifting.size() - 1)];
    duration = random_.Integer(60, 110);
    fault.size = sign * random_.Uniform(2.0, 4.0);
  } else if (kind == FaultKind::kSpike) {
    fault.channel = kSpiking[random_.Integer(0, kSpiking.size() - 1)];
    duration = random_.Integer(1, 3);
    fault.size = sign * random_.Uniform(3.5, 6.0);
  } else if (kind == FaultKind::kLostCorrelation) {
    fault.channel = kThrust;
    duration = random_.Integer(60, 100);
  } else {
    assert(kind == FaultKind::kBusSag);
    fault.channel = kBusVoltage;
    duration = random_.Integer(15, 30);
    fault.size = -random_.Uniform(3.5, 6.0);
  }
  fault.effect = {begin, begin + duration - 1};
  return fault;
}

}  // namespace telltale::data
