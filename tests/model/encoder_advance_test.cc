#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "model/encoder.h"
#include "model/stream_encoder.h"
#include "tests/support/attention_weights.h"
#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"
#include "tests/support/plain_encoder.h"
#include "tests/support/stream.h"

namespace telltale::model {
namespace {

// Forward and Advance are one function, evaluated two ways.

struct SeriesCase {
  std::string name;
  EncoderConfig config;
  int64_t count = 0;
  bool irregular = false;
  double first = 0;  // position of the first instant
};

void PrintTo(const SeriesCase& c, std::ostream* out) { *out << c.name; }

std::vector<SeriesCase> SeriesCases() {
  std::vector<SeriesCase> cases = {
      // 288 slots: the ring goes round a dozen times.
      {"Shipped", ShippedConfig(), 3500, false, 0},
      {"ShippedIrregular", ShippedConfig(), 3500, true, 0},
      {"ShippedFarFromZero", ShippedConfig(), 2000, false, 1e9},
      {"ShippedIrregularFarFromZero", ShippedConfig(), 2000, true, 1e9},
  };
  for (const EncoderCase& c : CausalCases()) {
    cases.push_back({c.name, c.config, 1200, c.irregular, 40});
  }
  return cases;
}

class EncoderAdvanceTest : public ::testing::TestWithParam<SeriesCase> {
 protected:
  EncoderAdvanceTest()
      : config_(GetParam().config),
        parameters_(RandomParameters(config_, 1)),
        whole_(config_, parameters_),
        encoder_(context_, config_, parameters_),
        x_(RandomMatrix(GetParam().count, config_.input_width, 2)),
        positions_(Positions(GetParam().count, GetParam().irregular,
                             GetParam().first)) {
    whole_.Forward(context_, x_.view(), positions_, forward_);
  }

  // `expected`: one matrix of all instants a head.
  void ExpectAttention(const AttentionRow& row, const LayerConfig& layer,
                       const std::vector<PlainMatrix>& expected) const {
    const int64_t query = row.query_index;
    EXPECT_EQ(row.first_key_index,
              std::max<int64_t>(0, query - layer.reach + 1));
    EXPECT_EQ(row.first_key_index + row.weights.columns() - 1, query);
    for (int head = 0; head < config_.heads; ++head) {
      const PlainMatrix& of_head = expected[static_cast<size_t>(head)];
      const int64_t nearest = head < layer.blind_heads ? layer.blind_span : 0;
      const float nothing = row.nothing[static_cast<size_t>(head)];
      double sum = nothing;
      for (int64_t k = 0; k < row.weights.columns(); ++k) {
        const int64_t key = row.first_key_index + k;
        const float weight = row.weights.Row(head)[k];
        sum += weight;
        EXPECT_NEAR(weight, of_head.At(query, key), 1e-5);
        EXPECT_EQ(weight > 0, query - key >= nearest) << query << " on " << key;
      }
      EXPECT_NEAR(nothing, of_head.At(query, GetParam().count), 1e-5);
      EXPECT_NEAR(sum, 1, 1e-5) << "instant " << query;
    }
  }

  Context context_;
  const EncoderConfig config_;
  const Parameters parameters_;
  const Encoder whole_;
  StreamEncoder encoder_;
  const Matrix x_;
  const std::vector<double> positions_;
  EncoderActivations forward_;
};

TEST_P(EncoderAdvanceTest, EqualsForwardLongAfterTheCacheBeganToForget) {
  for (const std::vector<int>& passes :
       {std::vector<int>{16}, std::vector<int>{1, 7, 16, 3}}) {
    Stream stream(config_, x_, positions_);
    AdvanceTo(encoder_, stream, passes);
    EXPECT_TRUE(IsNear(stream.forecast(), forward_.forecast, 1e-5));
  }
}

TEST_P(EncoderAdvanceTest, InBfloat16ItStaysNearForward) {
  if (!IsSupported(Precision::kBfloat16)) {
    GTEST_SKIP() << "this processor has no bf16";
  }
  StreamEncoder encoder(context_, config_, parameters_, Precision::kBfloat16);
  Stream stream(config_, x_, positions_);
  AdvanceTo(encoder, stream, {16});
  EXPECT_TRUE(IsNear(stream.forecast(), forward_.forecast, 0.05));
  EXPECT_FALSE(IsNear(stream.forecast(), forward_.forecast, 1e-5));
}

TEST_P(EncoderAdvanceTest, ShowsTheAttentionThatForwardHad) {
  constexpr int64_t kPass = 5;
  const int64_t checked = std::min<int64_t>(GetParam().count, 800);
  std::vector<std::vector<PlainMatrix>> expected;
  for (const EncoderActivations::Layer& layer : forward_.layers) {
    expected.push_back(
        AttentionWeights(layer.attention, config_.heads, GetParam().count));
  }
  Stream stream(config_, x_, positions_);
  while (stream.next() < checked) {
    const int64_t first = stream.next();
    StreamRows rows = stream.Take(kPass, /*with_attention=*/true);
    encoder_.Advance({&rows, 1});
    for (size_t n = 0; n < config_.layers.size(); ++n) {
      const std::vector<AttentionRow>& of_layer = stream.attention()[n];
      ASSERT_EQ(of_layer.size(), kPass);
      for (int64_t i = 0; i < kPass; ++i) {
        const AttentionRow& row = of_layer[static_cast<size_t>(i)];
        ASSERT_EQ(row.query_index, first + i);
        ExpectAttention(row, config_.layers[n], expected[n]);
      }
    }
    ASSERT_FALSE(HasFailure()) << "at instant " << first;
  }
}

// Slots of its ring that no instant has filled yet are not instants.
TEST_P(EncoderAdvanceTest, AStreamThatBeginsLaterSeesNothingBeforeThat) {
  constexpr int64_t kFirst = 101;
  const int64_t count = GetParam().count - kFirst;
  const std::vector<double> positions(positions_.begin() + kFirst,
                                      positions_.end());
  whole_.Forward(context_, x_.view().Rows(kFirst, count), positions, forward_);
  Stream stream(config_, x_, positions_, kFirst);
  StreamRows rows = stream.Take(12, /*with_attention=*/true);
  encoder_.Advance({&rows, 1});
  for (const std::vector<AttentionRow>& of_layer : stream.attention()) {
    for (const AttentionRow& row : of_layer) {
      EXPECT_GE(row.first_key_index, kFirst);
    }
  }
  AdvanceTo(encoder_, stream, {16, 3});
  EXPECT_TRUE(IsNear(ToPlain(stream.forecast().view().Rows(kFirst, count)),
                     ToPlain(forward_.forecast.view()), 1e-5));
}

INSTANTIATE_TEST_SUITE_P(Series, EncoderAdvanceTest,
                         ::testing::ValuesIn(SeriesCases()),
                         [](const auto& parameter) {
                           return parameter.param.name;
                         });

TEST(EncoderPositionTest, OnlyDistancesCount) {
  Context context;
  const EncoderConfig config = ShippedConfig();
  const Parameters parameters = RandomParameters(config, 1);
  StreamEncoder encoder(context, config, parameters);
  const Matrix x = RandomMatrix(500, config.input_width, 2);
  const std::vector<double> near = Positions(500, false);
  const std::vector<double> far = Positions(500, false, 1e9);
  Stream near_stream(config, x, near);
  Stream far_stream(config, x, far);
  AdvanceTo(encoder, near_stream, {16});
  AdvanceTo(encoder, far_stream, {16});
  EXPECT_TRUE(IsNear(near_stream.forecast(), far_stream.forecast(), 2e-5));
}

TEST(EncoderPositionTest, AGapIsAGap) {
  Context context;
  const EncoderConfig config = ShippedConfig();
  const Parameters parameters = RandomParameters(config, 1);
  const Encoder encoder(config, parameters);
  const Matrix x = RandomMatrix(100, config.input_width, 2);
  std::vector<double> positions = Positions(100, false);
  EncoderActivations without;
  EncoderActivations with;
  encoder.Forward(context, x.view(), positions, without);
  for (size_t i = 60; i < positions.size(); ++i) positions[i] += 30;
  encoder.Forward(context, x.view(), positions, with);
  const Matrix& a = without.forecast;
  const Matrix& b = with.forecast;
  EXPECT_TRUE(HasBits(a.view().Rows(0, 60), b.view().Rows(0, 60)));
  EXPECT_FALSE(IsNear(ToPlain(a.view().Rows(60, 1)),
                      ToPlain(b.view().Rows(60, 1)), 0.01));
}

// Explain: |attention x gradient|, gradients by differences of the encoder as
// plain loops in which the last layer's weights can be moved.
class ExplainTest : public ::testing::TestWithParam<EncoderCase> {
 protected:
  ExplainTest()
      : config_(GetParam().config),
        parameters_(RandomParameters(config_, 1)),
        encoder_(context_, config_, parameters_),
        x_(RandomMatrix(kCount, config_.input_width, 2)),
        positions_(Positions(kCount, GetParam().irregular)) {}

  // One value for each instant up to the query.
  std::vector<double> Expected(int64_t query, int column) const {
    const PlainTensors tensors = ToPlain(parameters_);
    const std::vector<PlainMatrix> weights =
        PlainForward(config_, tensors, ToPlain(x_.view()), positions_)
            .layers.back()
            .weights;
    std::vector<double> readout(static_cast<size_t>(query + 1));
    for (int head = 0; head < config_.heads; ++head) {
      for (int64_t key = 0; key <= query; ++key) {
        const double weight = weights[static_cast<size_t>(head)].At(query, key);
        if (weight == 0) continue;
        readout[static_cast<size_t>(key)] +=
            std::abs(weight * Gradient(tensors, {query, key}, head, column));
      }
    }
    return readout;
  }

  struct Edge {
    int64_t query, key;
  };
  // Of the query's forecast in `column` by a weight of the last layer.
  double Gradient(const PlainTensors& tensors, Edge edge, int head,
                  int column) const {
    double offset = 0;
    const auto adjust = [&](size_t n, std::vector<PlainMatrix>& weights) {
      if (n + 1 < config_.layers.size()) return;
      weights[static_cast<size_t>(head)].At(edge.query, edge.key) += offset;
    };
    return PlainDerivative(offset, [&] {
      return PlainForward(config_, tensors, ToPlain(x_.view()), positions_,
                          adjust)
          .forecast.At(edge.query, column);
    });
  }

  static constexpr int64_t kCount = 60;
  Context context_;
  const EncoderConfig config_;
  const Parameters parameters_;
  StreamEncoder encoder_;
  const Matrix x_;
  const std::vector<double> positions_;
};

TEST_P(ExplainTest, IsAttentionTimesGradientOfTheLastLayer) {
  Stream stream(config_, x_, positions_);
  AdvanceTo(encoder_, stream, {7, 16, 1});
  // At the end of the stream, and as far back as the longest horizon.
  for (int64_t query : {kCount - 1, kCount - 1 - config_.horizons.back()}) {
    for (int column : {0, config_.output_width() - 1}) {
      std::vector<float> found;
      const int64_t begin =
          encoder_.Explain(stream.cache(), query, column, found);
      const std::vector<double> expected = Expected(query, column);
      ASSERT_EQ(begin,
                std::max<int64_t>(0, query - config_.layers.back().reach + 1));
      ASSERT_EQ(static_cast<int64_t>(found.size()), query - begin + 1);
      const double largest = *std::ranges::max_element(expected);
      EXPECT_GT(largest, 1e-3);
      for (int64_t key = 0; key <= query; ++key) {
        const double value =
            key < begin ? 0 : found[static_cast<size_t>(key - begin)];
        EXPECT_NEAR(value, expected[static_cast<size_t>(key)], 1e-4 * largest)
            << "query " << query << " column " << column << " key " << key;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ExplainTest, ::testing::ValuesIn(CausalCases()),
                         [](const auto& parameter) {
                           return parameter.param.name;
                         });

}  // namespace
}  // namespace telltale::model
