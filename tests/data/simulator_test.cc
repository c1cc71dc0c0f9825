#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "data/simulator/coolant_loop.h"
#include "data/simulator/engine.h"
#include "data/simulator/random.h"
#include "data/simulator/simulate.h"
#include "tests/data/channel_statistics.h"

namespace telltale::data {
namespace {

// FNV-1a over the bits of the samples.
uint64_t Hash(const Series& series) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const float sample : series.samples) {
    hash = (hash ^ std::bit_cast<uint32_t>(sample)) * 0x100000001b3U;
  }
  return hash;
}

const Series& TheNominalRun() {
  static const Series& series = *new Series(
      Simulate({.seed = 22, .steps = 100'000, .faults = false}).series);
  return series;
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

TEST(Engine, ChannelsStayWithinPhysicalBounds) {
  constexpr double kLow[] = {300, 10'000, 4000, 3000, 0.3, 20,
                             20,  5,      0,    24,   50,  15};
  constexpr double kHigh[] = {500, 30'000, 14'000, 3400, 3.5, 80,
                              80,  7,      6,      30,   170, 100};
  for (int t = 0; t < TheNominalRun().length(); ++t) {
    const auto instant = TheNominalRun().Instant(t);
    for (int i = 0; i < kEngineChannelCount; ++i) {
      // A NaN fails both.
      ASSERT_GT(instant[i], kLow[i]) << EngineChannels()[i].name << " " << t;
      ASSERT_LT(instant[i], kHigh[i]) << EngineChannels()[i].name << " " << t;
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

}  // namespace
}  // namespace telltale::data
