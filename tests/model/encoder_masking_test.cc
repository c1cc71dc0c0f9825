#include <algorithm>
#include <cstdint>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "model/stream_encoder.h"
#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"
#include "tests/support/plain_encoder.h"
#include "tests/support/stream.h"

namespace telltale::model {
namespace {

constexpr int64_t kLength = 70;
constexpr int64_t kQuery = 62;

using Hidden = std::vector<std::vector<int64_t>>;

// Takes hidden keys away from every query, and what they had of each row goes
// to the rest of it.
void Hide(const std::vector<int64_t>& hidden, PlainMatrix& weights) {
  for (int64_t i = 0; i < weights.rows; ++i) {
    double rest = 0;
    for (const int64_t key : hidden) weights.At(i, key) = 0;
    for (int64_t j = 0; j < weights.columns; ++j) rest += weights.At(i, j);
    for (int64_t j = 0; j < weights.columns && rest > 0; ++j) {
      weights.At(i, j) /= rest;
    }
  }
}

// In every head of every layer.
AdjustWeights Without(const std::vector<int64_t>& hidden) {
  return [&hidden](size_t /*layer*/, std::vector<PlainMatrix>& weights) {
    for (PlainMatrix& head : weights) Hide(hidden, head);
  };
}

std::vector<int64_t> Range(int64_t begin, int64_t end) {
  std::vector<int64_t> range(static_cast<size_t>(end - begin));
  std::iota(range.begin(), range.end(), begin);
  return range;
}

struct MaskingCase {
  EncoderCase encoder;
  Precision precision = Precision::kFloat32;
};

void PrintTo(const MaskingCase& c, std::ostream* out) {
  *out << c.encoder.name << " in " << PrecisionName(c.precision);
}

// An encoder whose stream has gone past the query.
class EncoderMaskingTest : public ::testing::TestWithParam<MaskingCase> {
 protected:
  EncoderMaskingTest()
      : config_(GetParam().encoder.config),
        parameters_(RandomParameters(config_, 1)),
        encoder_(context_, config_, parameters_, precision()),
        x_(RandomMatrix(kLength, config_.input_width, 2)),
        positions_(Positions(kLength, GetParam().encoder.irregular)),
        stream_(config_, x_, positions_) {
    AdvanceTo(encoder_, stream_, {16, 3});
  }

  void SetUp() override {
    if (precision() != GetParam().precision) {
      GTEST_SKIP() << "this processor has no "
                   << PrecisionName(GetParam().precision);
    }
  }

  static Precision precision() {
    const Precision wanted = GetParam().precision;
    return IsSupported(wanted) ? wanted : Precision::kFloat32;
  }

  Matrix Forecast(const Hidden& hidden) {
    Matrix forecast(static_cast<int64_t>(hidden.size()),
                    config_.forecast_width());
    encoder_.ForecastWithout(stream_.cache(), kQuery, hidden, forecast.view());
    return forecast;
  }
  ConstMatrixView Advanced() const {
    return stream_.forecast().view().Rows(kQuery, 1);
  }

  Context context_;
  const EncoderConfig config_;
  const Parameters parameters_;
  StreamEncoder encoder_;
  const Matrix x_;
  const std::vector<double> positions_;
  Stream stream_;
};

TEST_P(EncoderMaskingTest, WithNothingHiddenItIsTheForecastToTheBit) {
  EXPECT_TRUE(HasBits(Forecast({{}}).view(), Advanced()));
}

TEST_P(EncoderMaskingTest, KeysOutOfReachAreNotMissed) {
  const int64_t reach = config_.layers.back().reach;
  const Hidden hidden = {Range(0, std::max(int64_t{0}, kQuery - reach + 1)),
                         {kQuery + 1, kQuery + 2}};
  const Matrix forecast = Forecast(hidden);
  EXPECT_TRUE(HasBits(forecast.view().Rows(0, 1), Advanced()));
  EXPECT_TRUE(HasBits(forecast.view().Rows(1, 1), Advanced()));
}

TEST_P(EncoderMaskingTest, IsTheDefinitionWithThoseKeysTakenOut) {
  const Hidden hidden = {{kQuery},
                         Range(kQuery - 4, kQuery + 1),
                         {kQuery - 9, kQuery - 8},
                         {kQuery - 2, kQuery - 13, kQuery - 17},
                         Range(0, kQuery + 1)};
  const Matrix forecast = Forecast(hidden);
  const PlainTensors tensors = ToPlain(parameters_);
  const PlainMatrix x = ToPlain(x_.view());
  const double error = precision() == Precision::kFloat32 ? 2e-5 : 0.05;
  for (size_t i = 0; i < hidden.size(); ++i) {
    const PlainActivations plain =
        PlainForward(config_, tensors, x, positions_, Without(hidden[i]));
    for (int64_t column = 0; column < config_.forecast_width(); ++column) {
      EXPECT_NEAR(forecast.Row(static_cast<int64_t>(i))[column],
                  plain.forecast.At(kQuery, column), error)
          << "set " << i << ", column " << column;
      EXPECT_NE(forecast.Row(static_cast<int64_t>(i))[column],
                Advanced().data[column]);
    }
  }
}

TEST_P(EncoderMaskingTest, ASetsForecastDoesNotDependOnTheOtherSets) {
  Hidden all;
  for (int64_t i = 0; i < kTileRows; ++i) {
    all.push_back(Range(kQuery - 2 * i, kQuery - i + 1));
  }
  const Matrix together = Forecast(all);
  for (int64_t i = 0; i < kTileRows; ++i) {
    const Matrix alone = Forecast({all[static_cast<size_t>(i)]});
    EXPECT_TRUE(HasBits(alone.view(), together.view().Rows(i, 1))) << i;
  }
}

TEST_P(EncoderMaskingTest, LeavesTheStreamAsItWas) {
  std::string before;
  std::string after;
  stream_.cache().Save(before);
  Forecast({Range(kQuery - 4, kQuery)});
  stream_.cache().Save(after);
  EXPECT_EQ(after, before);
}

std::vector<MaskingCase> Cases() {
  EncoderConfig one_layer = SmallConfig();
  one_layer.layers = {{.key_source = KeySource::kLayer, .reach = 20}};
  EncoderConfig no_null = SmallConfig();
  no_null.null_logit = false;
  no_null.layers.back().blind_heads = 0;
  return {{{"Small", SmallConfig()}},
          {{"SmallIrregular", SmallConfig(), true}},
          {{"Shipped", ShippedConfig()}},
          {{"OneLayer", one_layer}},
          {{"WithoutNullLogit", no_null}},
          {{"ShippedInBfloat16", ShippedConfig()}, Precision::kBfloat16}};
}

INSTANTIATE_TEST_SUITE_P(Cases, EncoderMaskingTest,
                         ::testing::ValuesIn(Cases()), [](const auto& tested) {
                           return tested.param.encoder.name;
                         });

}  // namespace
}  // namespace telltale::model
