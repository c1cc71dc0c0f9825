#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/simulator/coolant_loop.h"
#include "data/simulator/disturbance.h"
#include "data/simulator/fault.h"
#include "data/simulator/random.h"
#include "data/simulator/simulate.h"

namespace telltale::data {
namespace {

// Samples of one channel over instants [begin, end).
std::vector<double> Extract(const Series& series, EngineChannel channel,
                            int64_t begin, int64_t end) {
  std::vector<double> samples;
  for (int64_t t = begin; t < end; ++t) {
    samples.push_back(series.Instant(static_cast<int>(t))[channel]);
  }
  return samples;
}

double Mean(const std::vector<double>& samples) {
  double sum = 0;
  for (const double sample : samples) sum += sample;
  return sum / static_cast<double>(samples.size());
}

double Deviation(const std::vector<double>& samples) {
  const double mean = Mean(samples);
  double sum = 0;
  for (const double sample : samples) sum += (sample - mean) * (sample - mean);
  return std::sqrt(sum / static_cast<double>(samples.size()));
}

// How far the channel's mean over the middle of the interval lies above its
// mean over the instants before.
double Rise(const Series& series, EngineChannel channel,
            const Interval& interval) {
  const int64_t length = interval.end - interval.begin + 1;
  return Mean(Extract(series, channel, interval.begin + length / 3,
                      interval.end + 1 - length / 4)) -
         Mean(Extract(series, channel, interval.begin - 8, interval.begin));
}

// FNV-1a over the bits of the samples.
uint64_t Hash(const Series& series) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const float sample : series.samples) {
    hash = (hash ^ std::bit_cast<uint32_t>(sample)) * 0x100000001b3U;
  }
  return hash;
}

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

const Series& TheNominalRun() {
  static const Series& series = *new Series(
      Simulate({.seed = 22, .steps = 100'000, .faults = false}).series);
  return series;
}

std::vector<Fault> FaultsOfKind(FaultKind kind) {
  std::vector<Fault> found;
  for (const Fault& fault : TheFaultyRun().faults) {
    if (fault.kind == kind) found.push_back(fault);
  }
  return found;
}

TEST(Random, DrawsWhatItsDistributionsSay) {
  Random random(1, 1);
  double sum = 0;
  double squares = 0;
  double uniform = 0;
  std::vector<int> counts(5);
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) {
    const double normal = random.Normal();
    sum += normal;
    squares += normal * normal;
    uniform += random.Uniform(2, 4);
    ++counts.at(random.Integer(-2, 2) + 2);
  }

  EXPECT_NEAR(sum / kDraws, 0, 0.01);
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
  EXPECT_NEAR(uniform / kDraws, 3, 0.01);
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 5.0, 1000);
}

TEST(Random, StreamsOfOneSeedAreUnrelated) {
  Random first(5, 1);
  Random second(5, 2);
  double product = 0;
  for (int i = 0; i < 50'000; ++i) product += first.Normal() * second.Normal();
  EXPECT_NEAR(product / 50'000, 0, 0.02);
}

TEST(CoolantLoop, TransitFollowsTheFlowAndIsLongInATenthOfTheTime) {
  int64_t slow = 0;
  int64_t all = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    CoolantLoop loop(seed);
    for (int64_t t = 0; t < 100'000; ++t) {
      const int64_t transit = loop.Transit(t);
      ASSERT_NEAR(static_cast<double>(transit),
                  CoolantLoop::kVolume / loop.Flow(t), 0.51);
      ASSERT_GE(transit, 30);
      ASSERT_LE(transit, CoolantLoop::kMaxTransit);
      slow += transit > 95 ? 1 : 0;
      ++all;
      loop.Forget(t);
    }
  }
  EXPECT_NEAR(static_cast<double>(slow) / static_cast<double>(all), 0.1, 0.025);
}

TEST(CoolantLoop, NoSlugOvertakesAnEarlierOneByMoreThanRounding) {
  CoolantLoop loop(4);
  int64_t latest = 0;
  for (int64_t t = 0; t < 100'000; ++t) {
    const int64_t arrival = t + loop.Transit(t);
    EXPECT_GE(arrival, latest - 1);
    latest = std::max(latest, arrival);
  }
}

TEST(Engine, SameSeedGivesTheSameBitsOnEveryMachine) {
  const Engine::Options options = {.seed = 1, .steps = 20'000, .faults = true};

  // Pinned: changes only when the simulator itself is meant to change.
  EXPECT_EQ(Hash(Simulate(options).series), 4943973387017907782U);
  EXPECT_NE(Hash(Simulate({.seed = 2, .steps = 20'000, .faults = true}).series),
            Hash(Simulate(options).series));
}

TEST(Engine, FaultsChangeNothingBeforeTheFirst) {
  const Series with =
      Simulate({.seed = 9, .steps = 3000, .faults = true}).series;
  const Series without =
      Simulate({.seed = 9, .steps = 3000, .faults = false}).series;

  const size_t quiet = size_t{900} * kEngineChannelCount;
  EXPECT_TRUE(std::equal(with.samples.begin(), with.samples.begin() + quiet,
                         without.samples.begin()));
  EXPECT_NE(with.samples, without.samples);
}

TEST(Engine, ChannelsStayFiniteAndWithinPhysicalBounds) {
  constexpr double kLow[] = {300, 10'000, 4000, 3000, 0.3, 20,
                             20,  5,      0,    24,   50,  15};
  constexpr double kHigh[] = {500, 30'000, 14'000, 3400, 3.5, 80,
                              80,  7,      6,      30,   170, 100};
  for (const Series* series : {&TheNominalRun(), &TheFaultyRun().series}) {
    const bool faulty = series != &TheNominalRun();
    for (int t = 0; t < series->length(); ++t) {
      for (int i = 0; i < kEngineChannelCount; ++i) {
        const float sample = series->Instant(t)[i];
        ASSERT_TRUE(std::isfinite(sample));
        // A faulty sensor may read anything; in nominal operation none does.
        if (faulty) continue;
        ASSERT_GT(sample, kLow[i]) << EngineChannels()[i].name << " " << t;
        ASSERT_LT(sample, kHigh[i]) << EngineChannels()[i].name << " " << t;
      }
    }
  }
}

TEST(Engine, StraysAboutAsFarAsItsTypicalDeviations) {
  for (int i = 0; i < kEngineChannelCount; ++i) {
    const auto channel = static_cast<EngineChannel>(i);
    const double deviation =
        Deviation(Extract(TheNominalRun(), channel, 0, 100'000));
    EXPECT_GT(deviation, 0.6 * TypicalDeviation(channel))
        << EngineChannels()[i].name;
    EXPECT_LT(deviation, 1.6 * TypicalDeviation(channel))
        << EngineChannels()[i].name;
  }
}

// Where valve commands step in a nominal run: the instants and the step.
std::vector<std::pair<int64_t, double>> CommandOnsets(const Series& series) {
  std::vector<std::pair<int64_t, double>> onsets;
  int64_t last = -100;
  for (int t = 300; t < series.length() - 400; ++t) {
    const double step =
        series.Instant(t)[kValveCommand] - series.Instant(t - 1)[kValveCommand];
    if (std::fabs(step) < 3) continue;
    if (t - last > 40) onsets.emplace_back(t, step);
    last = t;
  }
  return onsets;
}

TEST(Engine, MixtureRatioFollowsEachCommandOneTransitLater) {
  const Series& series = TheNominalRun();
  const auto onsets = CommandOnsets(series);
  ASSERT_GT(onsets.size(), 250);
  int followed = 0;
  for (const auto& [t, step] : onsets) {
    const double flow = Mean(Extract(series, kCoolantFlow, t - 4, t + 5));
    const auto arrival = t + static_cast<int64_t>(CoolantLoop::kVolume / flow);
    const double rise = Rise(series, kMixtureRatio, {arrival, arrival + 22});
    if (rise * step > 0 && std::fabs(rise) > 0.003 * std::fabs(step)) {
      ++followed;
    }
  }
  // A few responses overlap with a neighbour's.
  EXPECT_GT(followed, 0.93 * static_cast<double>(onsets.size()));
}

// Instants at which the inlet pressure has fallen by 8 kPa within 4 instants.
std::vector<int64_t> DipOnsets(const Series& series) {
  std::vector<int64_t> onsets;
  int64_t last = -100;
  for (int t = 300; t < series.length() - 400; ++t) {
    const double fall = series.Instant(t - 4)[kPumpInletPressure] -
                        series.Instant(t)[kPumpInletPressure];
    if (fall < 8) continue;
    if (t - last > 40) onsets.push_back(t);
    last = t;
  }
  return onsets;
}

TEST(Engine, ChamberHeatsOneTransitAfterEachDip) {
  const Series& series = TheNominalRun();
  const std::vector<int64_t> onsets = DipOnsets(series);
  ASSERT_GT(onsets.size(), 300);
  int heated = 0;
  double at_the_right_time = 0;
  double at_other_times = 0;
  for (const int64_t t : onsets) {
    const double flow = Mean(Extract(series, kCoolantFlow, t - 4, t + 5));
    const auto arrival =
        t - 2 + static_cast<int64_t>(CoolantLoop::kVolume / flow);
    const double rise =
        Rise(series, kChamberTemperature, {arrival, arrival + 22});
    heated += rise > 4 ? 1 : 0;
    at_the_right_time += rise;
    // The same after the mean lag, whatever the flow.
    at_other_times += Rise(series, kChamberTemperature, {t + 58, t + 80});
  }
  EXPECT_GT(heated, 0.9 * static_cast<double>(onsets.size()));
  // The lag's dependence on the flow is what there is to learn.
  EXPECT_GT(at_the_right_time, 4 * at_other_times);
}

TEST(Engine, DueEffectsStandOutOfTheSensorsNoise) {
  const Series& series = TheNominalRun();
  // Differences of neighbours hold the noise alone, sqrt(2)-fold.
  std::vector<double> steps;
  for (int t = 1; t < 20'000; ++t) {
    steps.push_back(series.Instant(t)[kChamberTemperature] -
                    series.Instant(t - 1)[kChamberTemperature]);
  }
  const double noise = Deviation(steps) / std::sqrt(2.0);
  EXPECT_GT(noise, 0.05 * TypicalDeviation(kChamberTemperature));
  EXPECT_LT(noise, 0.25 * TypicalDeviation(kChamberTemperature));
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
    EXPECT_EQ(labels[i].cause.has_value(), fault.cause.has_value());
    EXPECT_EQ(labels[i].cause_channel.empty(), !fault.cause.has_value());
    if (!fault.cause) continue;
    EXPECT_LT(labels[i].cause->end_ns, labels[i].start_ns + 1);
  }
}

}  // namespace
}  // namespace telltale::data
