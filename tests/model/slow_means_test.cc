#include "model/scoring/slow_means.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/random.h"

namespace telltale::model {
namespace {

std::vector<float> Magnitudes(uint64_t seed, int count) {
  Random random(seed);
  std::vector<float> magnitudes(static_cast<size_t>(count));
  for (float& x : magnitudes) {
    x = static_cast<float>(std::abs(random.Normal()));
  }
  return magnitudes;
}

std::vector<float> Means(const std::vector<float>& magnitudes) {
  SlowMeans means(1);
  std::vector<float> all;
  for (const float x : magnitudes) {
    float mean = 0;
    means.Push({&x, 1}, {&mean, 1});
    all.push_back(mean);
  }
  return all;
}

TEST(SlowMeans, WeighByTwoExponentials) {
  std::vector<float> impulse(400, 0);
  impulse[0] = 1;

  const std::vector<float> means = Means(impulse);

  for (const int t : {0, 1, 50, 299}) {
    const double expected =
        (std::pow(0.95, t) / 20 + std::pow(1 - 1 / 60.0, t) / 60) / 2;
    EXPECT_NEAR(means[static_cast<size_t>(t)], expected, 1e-7) << t;
  }
  EXPECT_EQ(means[300], 0);
}

TEST(SlowMeans, DependOnThreeHundredInstantsToTheBit) {
  const std::vector<float> magnitudes = Magnitudes(1, 2000);
  const std::vector<float> all = Means(magnitudes);
  const std::vector<float> rebuilt =
      Means({magnitudes.begin() + 1234, magnitudes.end()});

  for (size_t t = SlowMeans::kTaps - 1; t < rebuilt.size(); ++t) {
    ASSERT_EQ(rebuilt[t], all[t + 1234]) << t;
  }
}

TEST(SlowMeans, CountWhatIsMissingAsZero) {
  std::vector<float> magnitudes = Magnitudes(2, 50);
  magnitudes[20] = 0;
  const std::vector<float> expected = Means(magnitudes);
  magnitudes[20] = std::numeric_limits<float>::quiet_NaN();

  EXPECT_EQ(Means(magnitudes), expected);
}

TEST(LaggedMeans, LookAheadAsFarAsTheLagAndNoFurther) {
  Matrix magnitudes(200, 1);
  const LaggedMeans means(8);
  float without = 0;
  means.At(magnitudes.view(), 100, {&without, 1});
  for (const int t : {91, 92, 100, 108}) {
    magnitudes.Row(t)[0] = 1;
    float with = 0;
    means.At(magnitudes.view(), 100, {&with, 1});
    EXPECT_GT(with, without) << t;
    magnitudes.Row(t)[0] = 0;
  }
  magnitudes.Row(109)[0] = 1;
  float beyond = 0;
  means.At(magnitudes.view(), 100, {&beyond, 1});
  EXPECT_EQ(beyond, without);
}

TEST(LaggedMeans, OfAConstantAreThatConstantAtEitherEnd) {
  Matrix magnitudes(200, 2);
  for (int64_t t = 0; t < 200; ++t) {
    magnitudes.Row(t)[0] = 1;
    magnitudes.Row(t)[1] = 3;
  }
  const LaggedMeans means(LaggedMeans::kLargestLag);
  for (const int64_t t : {0, 1, 100, 199}) {
    std::vector<float> mean(2);
    means.At(magnitudes.view(), t, mean);
    EXPECT_NEAR(mean[0], 1, 1e-5);
    EXPECT_NEAR(mean[1], 3, 1e-5);
  }
}

}  // namespace
}  // namespace telltale::model
