#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "model/encoder.h"
#include "model/random.h"
#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"
#include "tests/support/plain_encoder.h"

namespace telltale::model {
namespace {

// Two checks, each of every tensor by name and of the input:
//
// 1. Entries against central differences of the encoder as plain loops over
//    doubles, which are good to about 1e-8. The product's own rounding is a
//    few 1e-6 of the largest entry; 1e-3 of it is demanded, and what a tensor
//    without gradient (a key's bias, when softmax cancels it) may show is tied
//    to the largest entry of all.
// 2. Directions in the product alone: the loss moved along a direction changes
//    by the gradient along it. Along the gradient itself, its norm is
//    demanded to within half a per cent, so that an error of 1 % in scale is
//    seen; along random directions what is missing elsewhere shows.
constexpr int64_t kCount = 70;  // more than one block of queries
constexpr double kEntryTolerance = 1e-3;
constexpr double kDirectionTolerance = 5e-3;

class EncoderGradientTest : public ::testing::TestWithParam<EncoderCase> {
 protected:
  EncoderGradientTest()
      : config_(GetParam().config),
        parameters_(RandomParameters(config_, 1)),
        x_(RandomMatrix(kCount, config_.input_width, 2)),
        dforecast_(RandomMatrix(kCount, config_.output_width(), 3)),
        positions_(Positions(kCount, GetParam().irregular, 300)),
        gradients_(config_, 0),
        dx_(kCount, config_.input_width) {
    const Encoder encoder(config_, parameters_);
    encoder.Forward(context_, x_.view(), positions_, activations_);
    encoder.Backward(context_, activations_, dforecast_.view(), gradients_,
                     dx_.view());
  }

  // The loss, linear in the forecasts, of the product.
  double Loss() {
    const Encoder encoder(config_, parameters_);
    encoder.Forward(context_, x_.view(), positions_, activations_);
    return PlainInner(ToPlain(activations_.forecast.view()),
                      ToPlain(dforecast_.view()));
  }

  // The derivative of Loss() along `direction` (of norm one), by differences.
  double Along(std::span<float> values, const std::vector<double>& direction,
               double step) {
    const std::vector<float> kept(values.begin(), values.end());
    const auto moved = [&](double by) {
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(kept[i] + by * direction[i]);
      }
      return Loss();
    };
    // Four points: an error of the fourth order allows a step that is large
    // against the rounding of floats.
    const double near = moved(step) - moved(-step);
    const double far = moved(2 * step) - moved(-2 * step);
    std::ranges::copy(kept, values.begin());
    return (8 * near - far) / (12 * step);
  }

  void ExpectDirections(const std::string& name, std::span<float> values,
                        std::span<const float> gradient);
  void ExpectEntries(const std::string& name, PlainMatrix& tensor,
                     const PlainMatrix& found, double floor);

  PlainTensors plain_;
  PlainMatrix plain_x_;
  Context context_;
  const EncoderConfig config_;
  Parameters parameters_;
  Matrix x_;
  const Matrix dforecast_;
  const std::vector<double> positions_;
  EncoderActivations activations_;
  Parameters gradients_;
  Matrix dx_;
};

double Norm(std::span<const float> values) {
  double sum = 0;
  for (float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

void EncoderGradientTest::ExpectDirections(const std::string& name,
                                           std::span<float> values,
                                           std::span<const float> gradient) {
  constexpr double kStep = 0.02;
  // Rounding of the loss, some 1e-4 here, over the step.
  constexpr double kNoise = 0.01;
  const double norm = Norm(gradient);
  Random random(5);
  for (int trial = 0; trial < 3; ++trial) {
    std::vector<double> direction(values.size());
    double length = 0;
    for (size_t i = 0; i < direction.size(); ++i) {
      direction[i] = trial == 0 && norm > 0 ? gradient[i] : random.Normal();
      length += direction[i] * direction[i];
    }
    double expected = 0;
    for (size_t i = 0; i < direction.size(); ++i) {
      direction[i] /= std::sqrt(length);
      expected += direction[i] * gradient[i];
    }
    EXPECT_NEAR(expected, Along(values, direction, kStep),
                kDirectionTolerance * norm + kNoise)
        << name
        << (trial == 0 ? " along its gradient" : " along a random direction");
  }
}

void EncoderGradientTest::ExpectEntries(const std::string& name,
                                        PlainMatrix& tensor,
                                        const PlainMatrix& found,
                                        double floor) {
  constexpr int64_t kEntries = 16;
  const auto size = static_cast<int64_t>(tensor.values.size());
  const double tolerance = kEntryTolerance * LargestMagnitude(found) + floor;
  Random random(7);
  for (int64_t trial = 0; trial < std::min(kEntries, size); ++trial) {
    const auto entry =
        static_cast<size_t>(size <= kEntries ? trial : random.Below(size));
    const double expected = PlainDerivative(tensor.values[entry], [&] {
      return PlainInner(
          PlainForward(config_, plain_, plain_x_, positions_).forecast,
          ToPlain(dforecast_.view()));
    });
    EXPECT_NEAR(found.values[entry], expected, tolerance)
        << name << " entry " << entry;
  }
}

TEST_P(EncoderGradientTest, EntriesOfEveryTensorEqualDifferencesInDouble) {
  plain_ = ToPlain(parameters_);
  plain_x_ = ToPlain(x_.view());
  const PlainTensors found = ToPlain(gradients_);
  double largest = 0;
  for (const auto& [name, gradient] : found) {
    largest = std::max(largest, LargestMagnitude(gradient));
  }
  EXPECT_GT(largest, 1);
  for (auto& [name, tensor] : plain_) {
    ExpectEntries(name, tensor, found.at(name), 1e-6 * largest);
  }
  ExpectEntries("x", plain_x_, ToPlain(dx_.view()), 1e-6 * largest);
}

TEST_P(EncoderGradientTest, DirectionsOfEveryTensorEqualDifferences) {
  for (const NamedTensor& tensor : parameters_.tensors()) {
    ExpectDirections(tensor.name, parameters_.Tensor(tensor),
                     gradients_.Tensor(tensor));
  }
  ExpectDirections("x", x_.floats(), dx_.floats());
}

TEST_P(EncoderGradientTest, DirectionsWouldShowAnErrorOfOnePerCent) {
  int shown = 0;
  for (const NamedTensor& tensor : parameters_.tensors()) {
    const std::span<const float> gradient = gradients_.Tensor(tensor);
    const double norm = Norm(gradient);
    if (norm < 4) continue;  // the noise below would hide it
    std::vector<double> direction(gradient.begin(), gradient.end());
    for (double& entry : direction) entry /= norm;
    const double measured = Along(parameters_.Tensor(tensor), direction, 0.02);
    EXPECT_GT(std::abs(1.01 * norm - measured), kDirectionTolerance * norm)
        << tensor.name;
    ++shown;
  }
  EXPECT_GT(shown, 5);
}

TEST_P(EncoderGradientTest, BackwardAddsToTheGradients) {
  Parameters twice(config_, 0);
  const Encoder encoder(config_, parameters_);
  for (int pass = 0; pass < 2; ++pass) {
    encoder.Backward(context_, activations_, dforecast_.view(), twice,
                     dx_.view());
  }
  const double largest =
      LargestMagnitude(ToPlain(gradients_).at("forecast.weight"));
  for (const NamedTensor& tensor : twice.tensors()) {
    for (size_t i = 0; i < tensor.size; ++i) {
      const float once = gradients_.Tensor(tensor)[i];
      EXPECT_NEAR(twice.Tensor(tensor)[i], 2 * once,
                  1e-5 * std::abs(once) + 1e-5 * largest)
          << tensor.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EncoderGradientTest,
                         ::testing::ValuesIn(EncoderCases()),
                         [](const auto& parameter) {
                           return parameter.param.name;
                         });

}  // namespace
}  // namespace telltale::model
