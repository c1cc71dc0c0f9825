#include "model/scaler.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "model/random.h"
#include "tests/support/plant.h"

namespace telltale::model {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

data::Series SeriesOf(data::ChannelKind kind, std::vector<float> samples) {
  const data::Channel channel = MakeChannel("x", "kPa", kind);
  data::Series series;
  series.channels = data::ChannelSet::Create({channel}).value();
  for (size_t t = 0; t < samples.size(); ++t) {
    series.time_ns.push_back(static_cast<int64_t>(t) * 1'000'000'000);
  }
  series.samples = std::move(samples);
  return series;
}

Scaler FitWhole(const data::Series& series) {
  const Scaler::Part part = {&series, 0, series.length()};
  return Scaler::Fit(series.channels, {&part, 1});
}

std::vector<float> NormalSamples(double mean, double deviation) {
  Random random(3);
  std::vector<float> samples(20'000);
  for (float& x : samples) {
    x = static_cast<float>(mean + deviation * random.Normal());
  }
  return samples;
}

TEST(Scaler, MakesANormalChannelStandardNormal) {
  const data::Series series =
      SeriesOf(data::ChannelKind::kContinuous, NormalSamples(40, 2));

  const Scaler scaler = FitWhole(series);

  EXPECT_NEAR(scaler.center[0], 40, 0.1);
  EXPECT_NEAR(scaler.scale[0], 2, 0.1);
}

TEST(Scaler, HeedsNoOutlier) {
  std::vector<float> samples = NormalSamples(40, 2);
  samples[100] = 400;
  samples[200] = -400;

  const Scaler scaler =
      FitWhole(SeriesOf(data::ChannelKind::kContinuous, samples));

  EXPECT_NEAR(scaler.center[0], 40, 0.1);
  EXPECT_NEAR(scaler.scale[0], 2, 0.3);
}

TEST(Scaler, TakesTheDeviationOfAChannelThatRestsNearlyAlways) {
  // Rests at zero but for one instant in fifty: the quantiles see nothing.
  std::vector<float> samples(10'000, 0.0F);
  double squares = 0;
  for (size_t t = 0; t < samples.size(); t += 50) {
    samples[t] = 10;
    squares += 100;
  }
  const double mean = 10.0 / 50;
  const double deviation =
      std::sqrt(squares / static_cast<double>(samples.size()) - mean * mean);

  const Scaler scaler =
      FitWhole(SeriesOf(data::ChannelKind::kContinuous, samples));

  EXPECT_EQ(scaler.center[0], 0);
  EXPECT_NEAR(scaler.scale[0], deviation, 1e-3);
}

TEST(Scaler, FloorsTheScaleAtAThousandthOfTheLargestMagnitude) {
  const Scaler constant = FitWhole(
      SeriesOf(data::ChannelKind::kContinuous, std::vector<float>(500, -300)));
  EXPECT_EQ(constant.center[0], -300);
  EXPECT_FLOAT_EQ(constant.scale[0], 0.3F);

  const Scaler zero = FitWhole(
      SeriesOf(data::ChannelKind::kContinuous, std::vector<float>(500, 0)));
  EXPECT_EQ(zero.center[0], 0);
  EXPECT_FLOAT_EQ(zero.scale[0], 1e-6F);
}

TEST(Scaler, LetsAStepOfAUnitInAConstantChannelStandOut) {
  const Scaler scaler = FitWhole(
      SeriesOf(data::ChannelKind::kContinuous, std::vector<float>(500, 300)));

  EXPECT_GT(scaler.Apply(0, 301), 3);
  // What a converter's last digit does stays below the floor.
  EXPECT_LT(scaler.Apply(0, 300.01F), 0.05F);
}

TEST(Scaler, HasNoFloorWhereAChannelMovesInManyStepsFarFromZero) {
  std::vector<float> samples;
  for (const float x : NormalSamples(0, 1)) samples.push_back(1e6F + x);
  EXPECT_NEAR(
      FitWhole(SeriesOf(data::ChannelKind::kContinuous, samples)).scale[0], 1,
      0.1);

  // The last digits of a converter are no movement.
  for (float& x : samples) x = std::round((x - 1e6F) / 4) * 4 + 1e6F;
  EXPECT_FLOAT_EQ(
      FitWhole(SeriesOf(data::ChannelKind::kContinuous, samples)).scale[0],
      1000.004F);
}

TEST(Scaler, KeepsACommandsZeroAndBoundsItByOne) {
  const Scaler scaler =
      FitWhole(SeriesOf(data::ChannelKind::kCommand, {0, 5, -20, 10}));
  EXPECT_EQ(scaler.Apply(0, 0), 0);
  EXPECT_EQ(scaler.Apply(0, -20), -1);

  const Scaler silent =
      FitWhole(SeriesOf(data::ChannelKind::kCommand, {0, 0, 0, 0}));
  EXPECT_EQ(silent.scale[0], 1);
}

TEST(Scaler, LeavesADiscreteChannelAsItIs) {
  const Scaler scaler =
      FitWhole(SeriesOf(data::ChannelKind::kDiscrete, {1, 0, 1, 1}));

  EXPECT_EQ(scaler.center[0], 0);
  EXPECT_EQ(scaler.scale[0], 1);
}

TEST(Scaler, DoesNotCountMissingSamples) {
  std::vector<float> samples = NormalSamples(40, 2);
  const Scaler whole =
      FitWhole(SeriesOf(data::ChannelKind::kContinuous, samples));
  std::vector<float> holed;
  for (const float x : samples) {
    holed.push_back(x);
    holed.push_back(kMissing);
  }
  const Scaler scaler =
      FitWhole(SeriesOf(data::ChannelKind::kContinuous, holed));
  EXPECT_EQ(scaler.center, whole.center);
  EXPECT_EQ(scaler.scale, whole.scale);

  const Scaler nothing = FitWhole(SeriesOf(data::ChannelKind::kContinuous,
                                           std::vector<float>(9, kMissing)));
  EXPECT_EQ(nothing.center[0], 0);
  EXPECT_EQ(nothing.scale[0], 1);
}

TEST(Scaler, LooksAtTheGivenPartsAlone) {
  std::vector<float> samples = NormalSamples(40, 2);
  const data::Series inside = SeriesOf(data::ChannelKind::kContinuous, samples);
  samples.resize(samples.size() + 1000, 1e6F);
  const data::Series longer = SeriesOf(data::ChannelKind::kContinuous, samples);

  const Scaler::Part part = {&longer, 0, inside.length()};
  const Scaler scaler = Scaler::Fit(longer.channels, {&part, 1});

  EXPECT_EQ(scaler.center, FitWhole(inside).center);
  EXPECT_EQ(scaler.scale, FitWhole(inside).scale);
}

TEST(Scaler, InvertUndoesApply) {
  const Scaler scaler = {{40, 0, -7}, {2, 1, 1e-3F}};
  for (int channel = 0; channel < 3; ++channel) {
    for (const float x : {-100.0F, -7.0F, 0.0F, 0.25F, 41.0F, 1e6F}) {
      EXPECT_NEAR(scaler.Invert(channel, scaler.Apply(channel, x)), x,
                  1e-6F * std::abs(x) + 1e-5F);
    }
  }
}

TEST(Scaler, TakesTheLargestSamplesThatDataMayHold) {
  const Scaler scaler = FitWhole(
      SeriesOf(data::ChannelKind::kContinuous, {-1e30F, 1e30F, 0, 1e30F}));

  EXPECT_TRUE(std::isfinite(scaler.center[0]));
  EXPECT_TRUE(std::isfinite(scaler.scale[0]));
  EXPECT_TRUE(std::isfinite(scaler.Apply(0, -1e30F)));
}

}  // namespace
}  // namespace telltale::model
