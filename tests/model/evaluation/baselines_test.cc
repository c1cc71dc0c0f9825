#include "model/evaluation/baselines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "model/evaluation/principal_components.h"
#include "model/random.h"

namespace telltale::model {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

data::Series SeriesOf(int channels, const std::vector<float>& samples) {
  data::Series series;
  std::vector<data::Channel> set;
  set.reserve(static_cast<size_t>(channels));
  for (int c = 0; c < channels; ++c) {
    set.push_back({.name = std::string(1, static_cast<char>('a' + c)),
                   .unit = "",
                   .kind = data::ChannelKind::kContinuous,
                   .vocabulary = {}});
  }
  series.channels = data::ChannelSet::Create(set).value();
  series.samples = samples;
  const int length = static_cast<int>(samples.size()) / channels;
  for (int t = 0; t < length; ++t) series.time_ns.push_back(t * kSecond);
  return series;
}

float& At(data::Series& series, int instant, int channel) {
  const auto width = static_cast<size_t>(series.channels.size());
  return series.samples[width * static_cast<size_t>(instant) +
                        static_cast<size_t>(channel)];
}

// Two channels that move together, with a little noise of their own.
data::Series Pair(int length, uint64_t seed) {
  Random random(seed);
  std::vector<float> samples;
  for (int t = 0; t < length; ++t) {
    const double common = random.Normal();
    samples.push_back(static_cast<float>(5 + common + 0.1 * random.Normal()));
    samples.push_back(static_cast<float>(-2 * common + 0.1 * random.Normal()));
  }
  return SeriesOf(2, samples);
}

const Baseline& Named(const std::vector<Baseline>& baselines,
                      const std::string& name) {
  return *std::ranges::find(baselines, name, &Baseline::name);
}

int Peak(const Baseline& baseline) {
  return static_cast<int>(std::ranges::max_element(baseline.scores) -
                          baseline.scores.begin());
}

TEST(PrincipalComponents, FindsTheDirectionThatRowsShare) {
  // Rows along (3, 4) / 5 about (1, 1), and a tenth of that across.
  std::vector<double> rows;
  Random random(2);
  for (int i = 0; i < 500; ++i) {
    const double along = random.Normal();
    const double across = 0.1 * random.Normal();
    rows.push_back(1 + 0.6 * along - 0.8 * across);
    rows.push_back(1 + 0.8 * along + 0.6 * across);
  }

  const PrincipalComponents components(rows, 2, 0.95);

  EXPECT_EQ(components.count(), 1);
  EXPECT_NEAR(components.Residual(std::vector<double>{1 + 6, 1 + 8}), 0, 0.05);
  EXPECT_NEAR(components.Residual(std::vector<double>{1 - 8, 1 + 6}), 100, 1);
}

TEST(PrincipalComponents, WithAllComponentsNothingIsLeft) {
  Random random(3);
  std::vector<double> rows(360);  // 60 of 6
  for (double& x : rows) x = random.Normal();

  const PrincipalComponents components(rows, 6, 1.0);

  EXPECT_EQ(components.count(), 6);
  EXPECT_NEAR(components.Residual(std::vector<double>{9, 8, 7, 6, 5, 4}), 0,
              1e-9);
}

TEST(Baselines, RandomScoresAreTheSameForTheSameSeed) {
  EXPECT_EQ(RandomBaseline(50, 1).scores, RandomBaseline(50, 1).scores);
  EXPECT_NE(RandomBaseline(50, 1).scores, RandomBaseline(50, 2).scores);
}

TEST(Baselines, RobustZMeasuresDeviationsFromTheMedian) {
  std::vector<float> nominal(101);
  std::iota(nominal.begin(), nominal.end(), 0.0F);
  std::vector<float> samples = {50, 50 + 1.4826F * 25 * 4, kMissing, 50};

  const auto baselines =
      TrivialBaselines(SeriesOf(1, nominal), SeriesOf(1, samples));

  ASSERT_TRUE(baselines.ok()) << baselines.status();
  const std::vector<float>& scores = Named(*baselines, "robust z").scores;
  EXPECT_NEAR(scores[0], 0, 1e-5);
  EXPECT_NEAR(scores[1], 4, 1e-4);
  EXPECT_NEAR(scores[2], 4, 1e-4);  // missing: as before
  EXPECT_NEAR(scores[3], 0, 1e-5);
}

TEST(Baselines, PcaSeesALostCorrelationThatNoChannelShows) {
  const data::Series nominal = Pair(2000, 1);
  data::Series series = Pair(400, 2);
  At(series, 300, 0) = 5 + 1.5F;
  At(series, 300, 1) = 3.0F;  // -3 would fit

  const auto baselines = TrivialBaselines(nominal, series);

  ASSERT_TRUE(baselines.ok()) << baselines.status();
  EXPECT_THAT(Peak(Named(*baselines, "PCA")),
              ::testing::AllOf(::testing::Ge(300), ::testing::Lt(308)));
  EXPECT_NE(Peak(Named(*baselines, "robust z")), 300);
}

TEST(Baselines, TrailingMeansRiseWithUnrestAndWithDistance) {
  const data::Series nominal = Pair(2000, 1);
  data::Series series = Pair(600, 2);
  for (int t = 200; t < 260; ++t) {
    At(series, t, 0) += t % 2 == 0 ? 4.0F : -4.0F;
  }
  for (int t = 400; t < 460; ++t) At(series, t, 1) += 30.0F;

  const auto baselines = TrivialBaselines(nominal, series);

  EXPECT_EQ(Peak(Named(*baselines, "mean 50 of |dx|")) / 100, 2);
  EXPECT_EQ(Peak(Named(*baselines, "mean 50 of |x - m|")) / 100, 4);
}

TEST(Baselines, AreCausal) {
  const data::Series nominal = Pair(500, 1);
  const data::Series series = Pair(300, 2);
  data::Series changed = series;
  for (int t = 200; t < 300; ++t) At(changed, t, 0) = 1000;

  const auto before = TrivialBaselines(nominal, series);
  const auto after = TrivialBaselines(nominal, changed);

  for (size_t i = 0; i < before->size(); ++i) {
    for (int t = 0; t < 200; ++t) {
      ASSERT_EQ((*before)[i].scores[t], (*after)[i].scores[t]);
    }
  }
}

TEST(Baselines, RefuseWhatTheyCannotBeFittedOn) {
  EXPECT_FALSE(TrivialBaselines(Pair(99, 1), Pair(50, 2)).ok());
  EXPECT_FALSE(TrivialBaselines(Pair(200, 1), SeriesOf(1, {1, 2, 3})).ok());
}

TEST(Baselines, TakeAChannelForContinuousWhenEitherFileDoes) {
  const data::Series nominal = Pair(200, 1);
  data::Series series = Pair(50, 2);
  std::vector<data::Channel> channels = series.channels.channels();
  channels[1].kind = data::ChannelKind::kCommand;
  series.channels = data::ChannelSet::Create(channels).value();

  const auto found = TrivialBaselines(nominal, series);
  const auto expected = TrivialBaselines(nominal, Pair(50, 2));

  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(Named(*found, "PCA").scores, Named(*expected, "PCA").scores);
}

TEST(Baselines, BearConstantAndMissingChannels) {
  std::vector<float> nominal;
  for (int t = 0; t < 200; ++t) nominal.insert(nominal.end(), {3.0F, kMissing});
  const std::vector<float> samples = {3, kMissing, 3, 1, 4, 2};

  const auto baselines =
      TrivialBaselines(SeriesOf(2, nominal), SeriesOf(2, samples));

  ASSERT_TRUE(baselines.ok()) << baselines.status();
  for (const Baseline& baseline : *baselines) {
    for (float score : baseline.scores) EXPECT_TRUE(std::isfinite(score));
  }
}

}  // namespace
}  // namespace telltale::model
