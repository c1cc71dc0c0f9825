#include "model/parameters.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/encoder_cases.h"

namespace telltale::model {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

std::vector<std::string> Names(const Parameters& parameters) {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : parameters.tensors()) {
    names.push_back(tensor.name);
  }
  return names;
}

TEST(ParametersTest, TheTextbookHasTheTextbooksTensors) {
  EncoderConfig config = TextbookConfig();
  config.layers.resize(1);
  const Parameters parameters(config, 0);
  EXPECT_THAT(Names(parameters),
              UnorderedElementsAre("stem.linear.weight", "stem.linear.bias",
                                   "encoder.layer.0.attention.norm.scale",
                                   "encoder.layer.0.attention.norm.shift",
                                   "encoder.layer.0.attention.query.weight",
                                   "encoder.layer.0.attention.query.bias",
                                   "encoder.layer.0.attention.key.weight",
                                   "encoder.layer.0.attention.key.bias",
                                   "encoder.layer.0.attention.value.weight",
                                   "encoder.layer.0.attention.value.bias",
                                   "encoder.layer.0.attention.output.weight",
                                   "encoder.layer.0.attention.output.bias",
                                   "encoder.layer.0.feed_forward.norm.scale",
                                   "encoder.layer.0.feed_forward.norm.shift",
                                   "encoder.layer.0.feed_forward.hidden.weight",
                                   "encoder.layer.0.feed_forward.hidden.bias",
                                   "encoder.layer.0.feed_forward.output.weight",
                                   "encoder.layer.0.feed_forward.output.bias",
                                   "encoder.norm.scale", "encoder.norm.shift",
                                   "forecast.weight", "forecast.bias"));
}

TEST(ParametersTest, TensorsHaveTheShapesOfTheConfiguration) {
  const Parameters parameters(SmallConfig(), 2);
  const auto shape = [&](const std::string& name) {
    const NamedTensor* tensor = parameters.Find(name);
    return tensor == nullptr ? std::vector<int64_t>{} : tensor->shape;
  };
  EXPECT_THAT(shape("input.stand_in"), ElementsAre(2));
  EXPECT_THAT(shape("stem.linear.weight"), ElementsAre(9, 16));
  EXPECT_THAT(shape("stem.hidden.weight"), ElementsAre(9, 12));
  EXPECT_THAT(shape("stem.output.weight"), ElementsAre(12, 16));
  EXPECT_THAT(shape("encoder.layer.1.attention.query.weight"),
              ElementsAre(16, 32));
  EXPECT_THAT(shape("encoder.layer.1.attention.value.weight"),
              ElementsAre(16, 16));
  EXPECT_THAT(shape("encoder.layer.0.attention.distance_bias"),
              ElementsAre(4, 6));
  EXPECT_THAT(shape("encoder.layer.1.attention.distance_bias"),
              ElementsAre(4, 20));
  EXPECT_THAT(shape("encoder.layer.1.attention.null_logit"), ElementsAre(4));
  EXPECT_THAT(shape("forecast.weight"), ElementsAre(16, 6));
  EXPECT_EQ(parameters.Find("stem.output.bias"), nullptr);
  EXPECT_EQ(parameters.Find("forecast"), nullptr);
}

TEST(ParametersTest, TensorsDoNotOverlapAndViewsAreTheirs) {
  Parameters parameters(SmallConfig(), 2);
  float mark = 1;
  for (const NamedTensor& tensor : parameters.tensors()) {
    const std::span<float> values = parameters.Tensor(tensor);
    EXPECT_THAT(values, Each(0.0F)) << tensor.name << " was written before";
    std::ranges::fill(values, mark++);
  }
  const auto mark_of = [&](const std::string& name) {
    return parameters.Tensor(*parameters.Find(name))[0];
  };
  EXPECT_EQ(parameters.stand_in()[1], mark_of("input.stand_in"));
  EXPECT_EQ(parameters.stem().hidden.weight[0], mark_of("stem.hidden.weight"));
  EXPECT_EQ(parameters.layers()[1].attention.null_logit[3],
            mark_of("encoder.layer.1.attention.null_logit"));
  EXPECT_EQ(parameters.layers()[1].feed_forward.norm.shift[0],
            mark_of("encoder.layer.1.feed_forward.norm.shift"));
  EXPECT_EQ(parameters.norm().scale[0], mark_of("encoder.norm.scale"));
  EXPECT_EQ(parameters.forecast().bias[0], mark_of("forecast.bias"));
}

TEST(ParametersTest, OnlyWeightsDecay) {
  const Parameters parameters(SmallConfig(), 2);
  for (const NamedTensor& tensor : parameters.tensors()) {
    EXPECT_EQ(tensor.decays, tensor.name.ends_with(".weight")) << tensor.name;
  }
}

TEST(ParametersTest, AreDrawnWithTheVarianceOfTheirInputs) {
  Parameters parameters(ShippedConfig(), 0);
  parameters.Initialize(3);
  for (const NamedTensor& tensor : parameters.tensors()) {
    const std::span<const float> values = parameters.Tensor(tensor);
    if (tensor.name.ends_with(".scale")) {
      EXPECT_THAT(values, Each(1.0F)) << tensor.name;
    } else if (!tensor.decays) {
      EXPECT_THAT(values, Each(0.0F)) << tensor.name;
    } else {
      double square = 0;
      for (float value : values) square += static_cast<double>(value) * value;
      double expected = 1 / static_cast<double>(tensor.shape[0]);
      // Two layers add to the residual twice each.
      if (tensor.name.ends_with("output.weight")) expected /= 4;
      EXPECT_NEAR(square / static_cast<double>(tensor.size) / expected, 1, 0.2)
          << tensor.name;
    }
  }
}

TEST(ParametersTest, ASeedGivesTheSameBitsAndAnotherDoesNot) {
  Parameters a(SmallConfig(), 1);
  Parameters b(SmallConfig(), 1);
  Parameters c(SmallConfig(), 1);
  a.Initialize(7);
  b.Initialize(7);
  c.Initialize(8);
  EXPECT_TRUE(std::ranges::equal(a.values(), b.values()));
  EXPECT_FALSE(std::ranges::equal(a.values(), c.values()));
}

TEST(ParametersTest, MovingKeepsViewsAndCopyingFillsAnotherBuffer) {
  Parameters a(SmallConfig(), 0);
  a.Initialize(7);
  const float* weight = a.forecast().weight;
  Parameters moved = std::move(a);
  EXPECT_EQ(moved.forecast().weight, weight);

  Parameters copy(SmallConfig(), 0);
  copy.CopyFrom(moved);
  EXPECT_TRUE(std::ranges::equal(copy.values(), moved.values()));
  copy.SetZero();
  EXPECT_THAT(copy.values(), Each(0.0F));
  EXPECT_NE(moved.forecast().weight[0], 0);
}

}  // namespace
}  // namespace telltale::model
