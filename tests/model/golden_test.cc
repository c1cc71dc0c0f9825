// The encoder against golden tensors from an implementation of its own in
// PyTorch (tests/golden/make_golden.py): every activation, every gradient, the
// first ten losses of training, for two configurations.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include <nlohmann/json.hpp>

#include "model/checkpoint/safetensors.h"
#include "model/encoder.h"
#include "model/training/adamw.h"
#include "tests/support/attention_weights.h"

namespace telltale::model {
namespace {

// The golden tensors are good to float's rounding; the product adds up its own
// over two layers. Measured: less than 1e-6 of a tensor's largest entry.
constexpr double kTolerance = 1e-5;
// What a gradient that cancels may show, of the largest gradient of all.
constexpr double kGradientFloor = 1e-5;
constexpr double kLossTolerance = 1e-5;

float Largest(std::span<const float> values) {
  float largest = 0;
  for (float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

class GoldenTest : public ::testing::TestWithParam<const char*> {
 protected:
  // Tests run in the root of the sources.
  GoldenTest()
      : file_(TensorFile::Read(
                  absl::StrFormat("tests/golden/%s.safetensors", GetParam()))
                  .value()),
        config_(EncoderConfigFromJson(file_.metadata.at("encoder")).value()),
        parameters_(config_, 0),
        gradients_(config_, 0),
        encoder_(config_, parameters_),
        x_(MatrixOf("input")) {
    for (const NamedTensor& tensor : parameters_.tensors()) {
      const StoredTensor& stored = Stored("parameter." + tensor.name);
      EXPECT_EQ(stored.shape, tensor.shape) << tensor.name;
      std::ranges::copy(stored.values, parameters_.Tensor(tensor).begin());
    }
    const std::vector<float>& positions = Stored("position").values;
    positions_.assign(positions.begin(), positions.end());
  }

  const StoredTensor& Stored(const std::string& name) const {
    return file_.tensors.at(name);
  }

  Matrix MatrixOf(const std::string& name) const {
    const StoredTensor& stored = Stored(name);
    Matrix matrix(stored.shape.at(0), stored.shape.at(1));
    std::ranges::copy(stored.values, matrix.data());
    return matrix;
  }

  void ExpectNear(const std::string& name, std::span<const float> found,
                  double floor = 0) const {
    const std::vector<float>& expected = Stored(name).values;
    ASSERT_EQ(found.size(), expected.size()) << name;
    const double tolerance = std::max(kTolerance * Largest(expected), floor);
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], expected[i], tolerance) << name << " at " << i;
    }
  }

  void ExpectNear(const std::string& name, const Matrix& found) const {
    ExpectNear(name, found.floats());
  }

  void ExpectWeightsNear(int layer);

  // The mean square error over the targets that there are; leaves dLoss/dy.
  double Forward() {
    encoder_.Forward(context_, x_.view(), positions_, activations_);
    const Matrix target = MatrixOf("target");
    const int64_t count = std::ranges::count_if(
        target.floats(), [](float value) { return !std::isnan(value); });
    dforecast_.Resize(target.rows(), target.columns());
    double sum = 0;
    for (size_t i = 0; i < target.floats().size(); ++i) {
      const float difference =
          std::isnan(target.floats()[i])
              ? 0
              : activations_.forecast.floats()[i] - target.floats()[i];
      sum += static_cast<double>(difference) * difference;
      dforecast_.floats()[i] = 2 * difference / static_cast<float>(count);
    }
    return sum / static_cast<double>(count);
  }

  void Backward() {
    gradients_.SetZero();
    dx_.Resize(x_.rows(), x_.columns());
    encoder_.Backward(context_, activations_, dforecast_.view(), gradients_,
                      dx_.view());
  }

  const TensorFile file_;
  const EncoderConfig config_;
  Parameters parameters_;
  Parameters gradients_;
  Context context_;
  Encoder encoder_;
  const Matrix x_;
  std::vector<double> positions_;
  EncoderActivations activations_;
  Matrix dforecast_;
  Matrix dx_;
};

// Golden weights are [H, N, N], and one column more where a head may attend to
// nothing.
void GoldenTest::ExpectWeightsNear(int layer) {
  const std::string name = absl::StrFormat("layer.%d.weights", layer);
  const std::vector<PlainMatrix> weights = AttentionWeights(
      activations_.layers[layer].attention, config_.heads, x_.rows());
  std::vector<float> found;
  for (const PlainMatrix& of_head : weights) {
    for (int64_t r = 0; r < of_head.rows; ++r) {
      const int64_t columns = Stored(name).shape.at(2);
      for (int64_t c = 0; c < columns; ++c) {
        found.push_back(static_cast<float>(of_head.At(r, c)));
      }
    }
  }
  ExpectNear(name, found);
}

TEST_P(GoldenTest, EveryActivationMatches) {
  const double loss = Forward();

  ExpectNear("stem", activations_.stem);
  const int layer_count = static_cast<int>(config_.layers.size());
  for (int n = 0; n < layer_count; ++n) {
    const AttentionActivations& attention = activations_.layers[n].attention;
    const std::string prefix = absl::StrFormat("layer.%d.", n);
    ExpectNear(prefix + "query", attention.query);
    ExpectNear(prefix + "key", attention.key);
    ExpectNear(prefix + "value", attention.value);
    ExpectNear(prefix + "attended", attention.attended);
    ExpectWeightsNear(n);
    ExpectNear(prefix + "output", n + 1 < layer_count
                                      ? activations_.layers[n + 1].input
                                      : activations_.last);
  }
  ExpectNear("encoded", activations_.norm.output);
  ExpectNear("forecast", activations_.forecast);
  EXPECT_NEAR(loss, Stored("loss").values[0], kLossTolerance * loss);
}

TEST_P(GoldenTest, EveryGradientMatches) {
  Forward();
  Backward();

  double floor = 0;
  for (const NamedTensor& tensor : parameters_.tensors()) {
    const float largest = Largest(Stored("grad." + tensor.name).values);
    floor = std::max<double>(floor, kGradientFloor * largest);
  }
  for (const NamedTensor& tensor : parameters_.tensors()) {
    ExpectNear("grad." + tensor.name, gradients_.Tensor(tensor), floor);
  }
  ExpectNear("grad.input", dx_);
}

TEST_P(GoldenTest, TheFirstTenLossesOfTrainingMatch) {
  const auto training = nlohmann::json::parse(file_.metadata.at("training"));
  const int steps = training["steps"];
  AdamW optimiser(config_, 0, training["weight_decay"]);

  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    losses.push_back(Forward());
    Backward();
    ClipNorm(gradients_, training["clip"]);
    optimiser.Step(LearningRate(training["learning_rate"], step,
                                training["warmup_steps"], steps),
                   gradients_, parameters_);
  }

  const std::vector<float>& expected = Stored("losses").values;
  ASSERT_EQ(losses.size(), expected.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], expected[i], kLossTolerance * expected[i]) << i;
  }
  EXPECT_LT(losses.back(), 0.6 * losses.front());
}

INSTANTIATE_TEST_SUITE_P(Configurations, GoldenTest,
                         ::testing::Values("textbook", "default"),
                         [](const auto& tested) {
                           return std::string(tested.param);
                         });

}  // namespace
}  // namespace telltale::model
