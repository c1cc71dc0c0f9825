#include "model/training/adamw.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "model/random.h"

namespace telltale::model {
namespace {

EncoderConfig TinyConfig() {
  EncoderConfig config;
  config.input_width = 2;
  config.targets = 1;
  config.width = 16;
  config.heads = 2;
  config.query_width = 8;
  config.value_width = 8;
  config.feed_forward = 16;
  config.stem_hidden = 0;
  config.layers = {{.reach = 8}};
  return config;
}

TEST(LearningRate, RisesInALineAndFallsAlongACosine) {
  constexpr double kPeak = 4e-3;
  EXPECT_DOUBLE_EQ(LearningRate(kPeak, 0, 10, 110), kPeak / 10);
  EXPECT_DOUBLE_EQ(LearningRate(kPeak, 4, 10, 110), kPeak / 2);
  EXPECT_DOUBLE_EQ(LearningRate(kPeak, 9, 10, 110), kPeak);
  EXPECT_DOUBLE_EQ(LearningRate(kPeak, 10, 10, 110), kPeak);
  EXPECT_NEAR(LearningRate(kPeak, 60, 10, 110), kPeak / 2, 1e-12);
  EXPECT_NEAR(LearningRate(kPeak, 110, 10, 110), 0, 1e-12);
  EXPECT_NEAR(LearningRate(kPeak, 35, 10, 110),
              kPeak * (1 + std::numbers::sqrt2 / 2) / 2, 1e-12);
}

TEST(LearningRate, NeedsNoWarmUpAndSurvivesASingleStep) {
  EXPECT_DOUBLE_EQ(LearningRate(1, 0, 0, 100), 1);
  EXPECT_DOUBLE_EQ(LearningRate(1, 0, 0, 1), 1);
  EXPECT_TRUE(std::isfinite(LearningRate(1, 1, 1, 1)));
}

class AdamWTest : public testing::Test {
 protected:
  void FillGradients(uint64_t seed, double size) {
    Random random(seed);
    for (float& g : gradients_.values()) {
      g = static_cast<float>(size * random.Normal());
    }
  }

  const EncoderConfig config_ = TinyConfig();
  Parameters parameters_{config_, 1};
  Parameters gradients_{config_, 1};
};

TEST_F(AdamWTest, ClipsGradientsToTheLimitAndKeepsTheirDirection) {
  FillGradients(1, 1);
  const std::vector<float> before(gradients_.values().begin(),
                                  gradients_.values().end());
  double squares = 0;
  for (const float g : before) squares += static_cast<double>(g) * g;
  const double norm = std::sqrt(squares);

  EXPECT_NEAR(ClipNorm(gradients_, norm / 4), norm, 1e-6 * norm);

  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(gradients_.values()[i], before[i] / 4, 1e-6);
  }
}

TEST_F(AdamWTest, LeavesSmallGradientsAlone) {
  FillGradients(1, 1e-4);
  const std::vector<float> before(gradients_.values().begin(),
                                  gradients_.values().end());

  ClipNorm(gradients_, 1);

  EXPECT_TRUE(
      std::equal(before.begin(), before.end(), gradients_.values().begin()));
}

TEST_F(AdamWTest, LosesAStepWhoseGradientsAreNotFinite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity()}) {
    FillGradients(1, 1);
    gradients_.values()[7] = bad;

    EXPECT_FALSE(std::isfinite(ClipNorm(gradients_, 1)));

    for (const float g : gradients_.values()) ASSERT_EQ(g, 0);
  }
}

TEST_F(AdamWTest, FollowsThePlainAlgorithmInDoubles) {
  constexpr double kDecay = 0.1;
  parameters_.Initialize(3);
  std::vector<double> p(parameters_.values().begin(),
                        parameters_.values().end());
  std::vector<double> m(p.size(), 0.0);
  std::vector<double> v(p.size(), 0.0);
  std::vector<double> decay(p.size(), 0.0);
  int decaying = 0;
  for (const NamedTensor& tensor : parameters_.tensors()) {
    decaying += tensor.decays ? 1 : 0;
    for (size_t i = 0; i < tensor.size; ++i) {
      decay[tensor.offset + i] = tensor.decays ? kDecay : 0;
    }
  }
  ASSERT_GT(decaying, 0);
  ASSERT_LT(decaying, static_cast<int>(parameters_.tensors().size()));

  AdamW optimiser(config_, 1, kDecay);
  for (int step = 1; step <= 20; ++step) {
    const double rate = 1e-2 / step;
    FillGradients(static_cast<uint64_t>(step), 1);
    optimiser.Step(rate, gradients_, parameters_);
    for (size_t i = 0; i < p.size(); ++i) {
      const double g = gradients_.values()[i];
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.98 * v[i] + 0.02 * g * g;
      const double mean = m[i] / (1 - std::pow(0.9, step));
      const double square = v[i] / (1 - std::pow(0.98, step));
      p[i] -= rate * decay[i] * p[i] + rate * mean / (std::sqrt(square) + 1e-8);
    }
  }

  for (const NamedTensor& tensor : parameters_.tensors()) {
    for (size_t i = tensor.offset; i < tensor.offset + tensor.size; ++i) {
      ASSERT_NEAR(parameters_.values()[i], p[i], 2e-5) << tensor.name;
    }
  }
}

TEST_F(AdamWTest, FirstStepHasTheLengthOfTheLearningRate) {
  FillGradients(5, 1e-3);
  AdamW optimiser(config_, 1, 0);

  optimiser.Step(0.01, gradients_, parameters_);

  for (const NamedTensor& tensor : parameters_.tensors()) {
    for (size_t i = tensor.offset; i < tensor.offset + tensor.size; ++i) {
      const float g = gradients_.values()[i];
      if (std::abs(g) < 1e-6F) continue;
      ASSERT_NEAR(parameters_.values()[i], g > 0 ? -0.01 : 0.01, 2e-4);
    }
  }
}

}  // namespace
}  // namespace telltale::model
