#include "data/simulator/fault.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "data/labels.h"
#include "data/simulator/coolant_loop.h"
#include "data/simulator/engine.h"
#include "data/simulator/simulate.h"
#include "tests/data/channel_statistics.h"

namespace telltale::data {
namespace {

struct FaultyRun {
  Series series;
  std::vector<Fault> faults;
};

// 60,000 instants with faults, simulated once for all tests.
const FaultyRun& TheFaultyRun() {
  static const FaultyRun& run = *[] {
    const Engine::Options options = {
        .seed = 21, .steps = 60'000, .faults = true};
    Engine engine(options);
    std::array<float, kEngineChannelCount> instant = {};
    while (engine.Next(instant)) {
    }
    return new FaultyRun{Simulate(options).series, engine.faults()};
  }();
  return run;
}

std::vector<Fault> FaultsOfKind(FaultKind kind) {
  std::vector<Fault> found;
  for (const Fault& fault : TheFaultyRun().faults) {
    if (fault.kind == kind) found.push_back(fault);
  }
  return found;
}

TEST(Faults, AreManyApartAndOfEveryKind) {
  const std::vector<Fault>& faults = TheFaultyRun().faults;
  ASSERT_GE(faults.size(), 100);
  std::map<FaultKind, int> counts;
  int64_t free_from = FaultPlanner::kQuiet;
  for (const Fault& fault : faults) {
    ++counts[fault.kind];
    const int64_t begin = fault.cause ? fault.cause->begin : fault.effect.begin;
    // A stuck valve and the missing response behind it are one story.
    const bool same_story = fault.kind == FaultKind::kMissingResponse &&
                            counts[FaultKind::kStuckValve] > 0 &&
                            begin < free_from;
    if (!same_story) {
      EXPECT_GE(begin, free_from);
    }
    EXPECT_LT(fault.effect.end, 60'000);
    EXPECT_LE(fault.effect.begin, fault.effect.end);
    free_from = fault.effect.end + 180;
  }
  EXPECT_EQ(counts.size(), 10);
  const int drops = counts[FaultKind::kPressureDrop];
  EXPECT_NEAR(static_cast<double>(drops) / static_cast<double>(faults.size()),
              0.34, 0.05);
  for (const auto& [kind, count] : counts) {
    EXPECT_GE(count, 5) << FaultKindName(kind);
    EXPECT_LE(count, drops) << FaultKindName(kind);
  }
}

TEST(Faults, NeverMakeASampleMissingOrInfinite) {
  for (const float sample : TheFaultyRun().series.samples) {
    ASSERT_TRUE(std::isfinite(sample));
  }
}

TEST(Faults, DisturbancesTravelOneTransitOfTheLoop) {
  const Series& series = TheFaultyRun().series;
  for (const Fault& fault : TheFaultyRun().faults) {
    if (!fault.cause || fault.kind == FaultKind::kChangedLag) continue;
    const int64_t t = fault.cause->begin;
    const double flow = Mean(Extract(series, kCoolantFlow, t - 2, t + 3));
    const double lag = static_cast<double>(fault.cause->arrival - t);
    EXPECT_NEAR(lag, CoolantLoop::kVolume / flow, 3 + 0.02 * lag);
  }
}

TEST(Faults, PressureDropsAreDeepAndOverheatTheChamber) {
  const Series& series = TheFaultyRun().series;
  for (const Fault& fault : FaultsOfKind(FaultKind::kPressureDrop)) {
    const double fall = -Rise(series, kPumpInletPressure, fault.cause->Cause());
    EXPECT_GT(fall, 3.5 * TypicalDeviation(kPumpInletPressure));
    EXPECT_GT(Rise(series, kChamberTemperature, fault.effect),
              2.0 * TypicalDeviation(kChamberTemperature));
    EXPECT_GT(fault.cause->arriving_size, 1.2 * fault.cause->size);
  }
}

TEST(Faults, MissingEffectsHaveACauseAndNoEffect) {
  const Series& series = TheFaultyRun().series;
  for (const Fault& fault : FaultsOfKind(FaultKind::kMissingEffect)) {
    EXPECT_LT(Rise(series, kPumpInletPressure, fault.cause->Cause()),
              -0.8 * TypicalDeviation(kPumpInletPressure));
    EXPECT_NEAR(Rise(series, kChamberTemperature, fault.effect), 0,
                0.6 * TypicalDeviation(kChamberTemperature));
  }
}

TEST(Faults, MissingResponsesLeaveTheMixtureAlone) {
  const Series& series = TheFaultyRun().series;
  for (const Fault& fault : FaultsOfKind(FaultKind::kMissingResponse)) {
    const Interval cause = fault.cause->Cause();
    const double step =
        series.Instant(static_cast<int>(cause.begin))[kValveCommand] -
        series.Instant(static_cast<int>(cause.begin - 1))[kValveCommand];
    EXPECT_NEAR(step, fault.cause->size, 0.3);
    EXPECT_LT(std::fabs(Rise(series, kMixtureRatio, fault.effect)),
              0.006 * std::fabs(step) + 0.02);
  }
}

TEST(Faults, GainHeatsMoreThanTheDipDeserves) {
  const Series& series = TheFaultyRun().series;
  double heat_per_depth = 0;
  for (const Fault& fault : FaultsOfKind(FaultKind::kGain)) {
    heat_per_depth +=
        Rise(series, kChamberTemperature, fault.effect) / fault.cause->size;
  }
  heat_per_depth /= static_cast<double>(FaultsOfKind(FaultKind::kGain).size());
  // A nominal dip gives about 7 K per unit of depth.
  EXPECT_GT(heat_per_depth, 13);
}

TEST(Faults, ChangedLagsAreOffByTwentyToFortyInstants) {
  for (const Fault& fault : FaultsOfKind(FaultKind::kChangedLag)) {
    const int64_t shown = fault.effect.end - fault.effect.begin;
    const int64_t usual = fault.cause->duration + Disturbance::kAftermath;
    EXPECT_GE(shown - usual, 20);
    EXPECT_LE(shown - usual, 40);
    EXPECT_TRUE(fault.effect.Contains(fault.cause->arrival));
    EXPECT_GT(fault.effect.begin, fault.cause->Cause().end - 40);
  }
}

TEST(Faults, AStuckValveDoesNotFollowItsCommand) {
  const Series& series = TheFaultyRun().series;
  for (const Fault& fault : FaultsOfKind(FaultKind::kStuckValve)) {
    const int64_t begin = fault.effect.begin + 3;
    const auto command =
        Extract(series, kValveCommand, begin, fault.effect.end);
    const auto position =
        Extract(series, kValvePosition, begin, fault.effect.end);
    EXPECT_GT(std::fabs(Mean(command) - Mean(position)), 5);
  }
}

TEST(Faults, SensorFaultsShowOnTheirChannel) {
  const Series& series = TheFaultyRun().series;
  for (const FaultKind kind :
       {FaultKind::kSpike, FaultKind::kDrift, FaultKind::kBusSag}) {
    for (const Fault& fault : FaultsOfKind(kind)) {
      EXPECT_FALSE(fault.cause.has_value());
      const auto middle = (fault.effect.begin + fault.effect.end) / 2;
      const double moved =
          series.Instant(static_cast<int>(middle))[fault.channel] -
          Mean(Extract(series, fault.channel, fault.effect.begin - 3,
                       fault.effect.begin));
      EXPECT_GT(moved * (fault.size > 0 ? 1 : -1),
                0.4 * TypicalDeviation(fault.channel))
          << FaultKindName(kind) << " of "
          << EngineChannels()[fault.channel].name;
    }
  }
}

TEST(Faults, LostCorrelationParts) {
  const Series& series = TheFaultyRun().series;
  for (const Fault& fault : FaultsOfKind(FaultKind::kLostCorrelation)) {
    const auto mismatch = [&series](int64_t begin, int64_t end) {
      std::vector<double> difference;
      for (int64_t t = begin; t < end; ++t) {
        const auto instant = series.Instant(static_cast<int>(t));
        difference.push_back(instant[kThrust] -
                             0.012 * instant[kChamberPressure]);
      }
      return Deviation(difference);
    };
    const int64_t length = fault.effect.end - fault.effect.begin;
    EXPECT_GT(mismatch(fault.effect.begin, fault.effect.end),
              1.5 * mismatch(fault.effect.begin - length, fault.effect.begin));
  }
}

TEST(Faults, AreLabelledWithTheirCauses) {
  const std::vector<LabelledEvent> labels = LabelsOf(TheFaultyRun().faults);
  ASSERT_EQ(labels.size(), TheFaultyRun().faults.size());
  for (size_t i = 0; i < labels.size(); ++i) {
    const Fault& fault = TheFaultyRun().faults[i];
    EXPECT_EQ(labels[i].start_ns, fault.effect.begin * kSimulatedCadenceNs);
    EXPECT_EQ(labels[i].end_ns, fault.effect.end * kSimulatedCadenceNs);
    EXPECT_EQ(labels[i].kind, FaultKindName(fault.kind));
    EXPECT_EQ(labels[i].channel, EngineChannels()[fault.channel].name);
    EXPECT_EQ(labels[i].cause.has_value(), fault.cause.has_value());
    EXPECT_EQ(labels[i].cause_channel.empty(), !fault.cause.has_value());
    if (!fault.cause) continue;
    EXPECT_LT(labels[i].cause->end_ns, labels[i].start_ns + 1);
  }
}

}  // namespace
}  // namespace telltale::data
