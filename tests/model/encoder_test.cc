#include "model/encoder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "model/stream_encoder.h"
#include "tests/support/attention_weights.h"
#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"
#include "tests/support/plain_encoder.h"
#include "tests/support/stream.h"

namespace telltale::model {
namespace {

EncoderActivations Forward(Context& context, const EncoderConfig& config,
                           const Parameters& parameters, const Matrix& x,
                           const std::vector<double>& positions) {
  const Encoder encoder(config, parameters);
  EncoderActivations activations;
  encoder.Forward(context, x.view(), positions, activations);
  return activations;
}

class EncoderTest : public ::testing::TestWithParam<EncoderCase> {
 protected:
  EncoderTest()
      : config_(GetParam().config), parameters_(RandomParameters(config_, 1)) {}

  Context context_;
  const EncoderConfig config_;
  const Parameters parameters_;
};

TEST_P(EncoderTest, ForwardEqualsPlainLoopsAtEveryStep) {
  for (int64_t count : {1, 2, 63, 100}) {
    const Matrix x = RandomMatrix(count, config_.input_width, 2);
    const std::vector<double> positions =
        Positions(count, GetParam().irregular, 300);
    const EncoderActivations found =
        Forward(context_, config_, parameters_, x, positions);
    const PlainActivations expected = PlainForward(
        config_, ToPlain(parameters_), ToPlain(x.view()), positions);
    EXPECT_TRUE(IsNear(found.stem.view(), expected.stem, 1e-5));
    for (size_t n = 0; n < expected.layers.size(); ++n) {
      const PlainLayer& layer = expected.layers[n];
      const AttentionActivations& attention = found.layers[n].attention;
      EXPECT_TRUE(IsNear(attention.query.view(), layer.query, 3e-5));
      EXPECT_TRUE(IsNear(attention.key.view(), layer.key, 3e-5));
      EXPECT_TRUE(IsNear(attention.value.view(), layer.value, 3e-5));
      EXPECT_TRUE(IsNear(attention.attended.view(), layer.attended, 3e-5));
      const std::vector<PlainMatrix> weights =
          AttentionWeights(attention, config_.heads, count);
      for (size_t head = 0; head < weights.size(); ++head) {
        EXPECT_TRUE(IsNear(weights[head], layer.weights[head], 3e-5));
      }
      const Matrix& output =
          n + 1 < found.layers.size() ? found.layers[n + 1].input : found.last;
      EXPECT_TRUE(IsNear(output.view(), layer.output, 3e-5)) << "layer " << n;
    }
    EXPECT_TRUE(IsNear(found.norm.output.view(), expected.encoded, 3e-5));
    EXPECT_TRUE(IsNear(found.forecast.view(), expected.forecast, 3e-5))
        << count << " instants";
    EXPECT_GT(LargestMagnitude(expected.forecast), 0.5);
  }
}

using CausalEncoderTest = EncoderTest;

TEST_P(CausalEncoderTest, ALaterInstantNeverChangesAnEarlierForecast) {
  constexpr int64_t kCount = 150;
  const std::vector<double> positions = Positions(kCount, GetParam().irregular);
  Matrix x = RandomMatrix(kCount, config_.input_width, 2);
  const Matrix before =
      Forward(context_, config_, parameters_, x, positions).forecast;
  for (int64_t changed : {1, 63, 64, 90, 149}) {
    Matrix other = x;
    for (int i = 0; i < config_.input_width; ++i) {
      other.Row(changed)[i] += 100;
    }
    const Matrix after =
        Forward(context_, config_, parameters_, other, positions).forecast;
    EXPECT_TRUE(
        HasBits(after.view().Rows(0, changed), before.view().Rows(0, changed)))
        << "instant " << changed;
    EXPECT_FALSE(
        HasBits(after.view().Rows(changed, 1), before.view().Rows(changed, 1)))
        << "instant " << changed;
  }
}

TEST_P(CausalEncoderTest, AForecastRestsOnTheReceptiveFieldAndNoMore) {
  const int64_t field = config_.receptive_field();
  const int64_t count = field + 10;
  const std::vector<double> positions = Positions(count, GetParam().irregular);
  const Matrix x = RandomMatrix(count, config_.input_width, 2);
  const Matrix before =
      Forward(context_, config_, parameters_, x, positions).forecast;
  const int64_t query = count - 1;
  const auto changes = [&](int64_t instant) {
    Matrix other = x;
    for (int i = 0; i < config_.input_width; ++i) {
      other.Row(instant)[i] += 100;
    }
    const Matrix after =
        Forward(context_, config_, parameters_, other, positions).forecast;
    return !HasBits(after.view().Rows(query, 1), before.view().Rows(query, 1));
  };
  EXPECT_TRUE(changes(query - field + 1));
  EXPECT_FALSE(changes(query - field));
  EXPECT_FALSE(changes(0));
}

TEST_P(EncoderTest, BuildsEveryPrimitiveInTheFirstPass) {
  constexpr int64_t kCount = 150;
  const Encoder encoder(config_, parameters_);
  Parameters gradients(config_, 0);
  const std::vector<double> positions = Positions(kCount, false);
  const Matrix x = RandomMatrix(kCount, config_.input_width, 2);
  const Matrix dforecast = RandomMatrix(kCount, config_.output_width(), 3);
  Matrix dx(kCount, config_.input_width);
  EncoderActivations activations;
  int after_first = 0;
  for (int pass = 0; pass < 3; ++pass) {
    encoder.Forward(context_, x.view(), positions, activations);
    encoder.Backward(context_, activations, dforecast.view(), gradients,
                     dx.view());
    if (pass == 0) after_first = context_.primitive_count();
    EXPECT_EQ(context_.primitive_count(), after_first) << "pass " << pass;
  }
  EXPECT_GT(after_first, 5);
}

INSTANTIATE_TEST_SUITE_P(Cases, EncoderTest,
                         ::testing::ValuesIn(EncoderCases()),
                         [](const auto& parameter) {
                           return parameter.param.name;
                         });
INSTANTIATE_TEST_SUITE_P(Cases, CausalEncoderTest,
                         ::testing::ValuesIn(CausalCases()),
                         [](const auto& parameter) {
                           return parameter.param.name;
                         });

TEST(EncoderServingTest, BuildsNoPrimitiveOnceItHasSeenEverySizeOfPass) {
  Context context;
  const EncoderConfig config = ShippedConfig();
  const Parameters parameters = RandomParameters(config, 1);
  const Matrix x = RandomMatrix(900, config.input_width, 2);
  const std::vector<double> positions = Positions(900, true);
  StreamEncoder encoder(context, config, parameters);
  Stream stream(config, x, positions);
  AdvanceTo(encoder, stream, {1, 2, 4, 8, 16}, 31);
  const int after_first = context.primitive_count();
  EXPECT_GT(after_first, 5);
  // Whatever else a pass is made of, and after the ring has gone round.
  AdvanceTo(encoder, stream, {1, 7, 16, 3}, 800);
  Stream other(config, x, positions);
  StreamRows rows[] = {stream.Take(11), other.Take(4)};
  encoder.Advance(rows);
  EXPECT_EQ(context.primitive_count(), after_first);
}

// The encoder without mask, over instants in another order.
class PermutationTest : public ::testing::Test {
 protected:
  static constexpr int64_t kCount = 40;

  PermutationTest() {
    order_.resize(kCount);
    std::iota(order_.begin(), order_.end(), 0);
    // 7 and 40 have no common factor.
    for (int64_t i = 0; i < kCount; ++i) {
      order_[static_cast<size_t>(i)] = (7 * i + 3) % kCount;
    }
  }

  static EncoderConfig Config(bool rotary) {
    EncoderConfig config = TextbookConfig();
    config.causal = false;
    config.rotary = rotary;
    return config;
  }
  Matrix Permuted(const Matrix& x) const {
    Matrix y(x.rows(), x.columns());
    for (int64_t i = 0; i < kCount; ++i) {
      std::copy_n(x.Row(order_[static_cast<size_t>(i)]), x.columns(), y.Row(i));
    }
    return y;
  }
  // How far apart are the forecasts of the permuted instants, at these
  // positions, and the permuted forecasts?
  double Distance(const EncoderConfig& config,
                  const std::vector<double>& permuted_positions) {
    const Parameters parameters = RandomParameters(config, 1);
    const Matrix x = RandomMatrix(kCount, config.input_width, 2);
    const Matrix expected = Permuted(
        Forward(context_, config, parameters, x, Positions(kCount, false))
            .forecast);
    const Matrix found =
        Forward(context_, config, parameters, Permuted(x), permuted_positions)
            .forecast;
    double distance = 0;
    for (size_t i = 0; i < found.floats().size(); ++i) {
      distance = std::max<double>(
          distance, std::abs(found.floats()[i] - expected.floats()[i]));
    }
    return distance;
  }

  Context context_;
  std::vector<int64_t> order_;
};

TEST_F(PermutationTest, WithoutPositionsTheOrderOfInstantsDoesNotCount) {
  EXPECT_LT(Distance(Config(false), Positions(kCount, false)), 1e-5);
}

TEST_F(PermutationTest, WithRotaryPositionsItDoes) {
  EXPECT_GT(Distance(Config(true), Positions(kCount, false)), 0.05);
}

TEST_F(PermutationTest, WithRotaryPositionsThatMoveAlongItDoesNot) {
  std::vector<double> moved;
  for (int64_t i : order_) moved.push_back(static_cast<double>(i));
  EXPECT_LT(Distance(Config(true), moved), 1e-5);
}

TEST_F(PermutationTest, WithTheMaskItDoes) {
  EncoderConfig config = Config(false);
  config.causal = true;
  EXPECT_GT(Distance(config, Positions(kCount, false)), 0.05);
}

}  // namespace
}  // namespace telltale::model
