#include "model/layers/multi_head_attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "model/ops/matmul.h"
#include "model/ops/softmax.h"
#include "tests/support/attention_weights.h"
#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"
#include "tests/support/plain_encoder.h"

namespace telltale::model {
namespace {

// The worked example: q1 = k1 = (1, 0), q2 = k2 = (0, 1), v1 = (2, 0),
// v2 = (0, 3), d_k = 2. The scores of the first query are 1 / sqrt(2) and 0,
// its weights .670 and .330, its output (1.34, .99).
constexpr double kNearWeight = 0.6697615;
constexpr double kFarWeight = 0.3302385;

// One head as wide as the model. Layer norm makes (a, -a) and (-a, a) of the
// tokens (1, 0) and (0, 1); the projections make queries, keys and values of
// the example from these.
class WorkedExampleTest : public ::testing::Test {
 protected:
  explicit WorkedExampleTest(bool causal = false)
      : config_(MakeConfig(causal)), parameters_(config_, 0) {
    const float a = 0.5F / std::sqrt(0.25F + 1e-5F);
    parameters_.Initialize(1);
    Set("norm.scale", {1, 1});
    for (const char* name : {"query", "key"}) {
      Set(std::string(name) + ".weight", {0.5F / a, 0, 0, 0.5F / a});
      Set(std::string(name) + ".bias", {0.5F, 0.5F});
    }
    Set("value.weight", {1 / a, 0, 0, 1.5F / a});
    Set("value.bias", {1, 1.5F});
    Set("output.weight", {1, 0, 0, 1});
    x_.floats() = {1, 0, 0, 1};
  }

  static EncoderConfig MakeConfig(bool causal) {
    EncoderConfig config = TextbookConfig();
    config.width = 2;
    config.heads = 1;
    config.query_width = 2;
    config.value_width = 2;
    config.causal = causal;
    return config;
  }
  void Set(const std::string& name, const std::vector<float>& values) {
    const NamedTensor* tensor =
        parameters_.Find("encoder.layer.0.attention." + name);
    ASSERT_NE(tensor, nullptr) << name;
    ASSERT_EQ(tensor->size, values.size()) << name;
    std::ranges::copy(values, parameters_.Tensor(*tensor).begin());
  }
  MultiHeadAttention Layer() const {
    return {config_, config_.layers[0], parameters_.layers()[0].attention};
  }

  Context context_;
  EncoderConfig config_;
  Parameters parameters_;
  Matrix x_{2, 2};
  RotaryAngles angles_;
  AttentionActivations activations_;
};

TEST_F(WorkedExampleTest, TheLayerGivesItsWeightsAndOutputs) {
  Matrix y(2, 2);
  const std::vector<double> positions = {0, 1};
  Layer().Forward(context_, {x_.view(), x_.view(), angles_, positions},
                  activations_, y.view());
  const std::vector<PlainMatrix> weights =
      AttentionWeights(activations_, config_.heads, 2);
  EXPECT_NEAR(weights[0].At(0, 0), .670, 5e-4);
  EXPECT_NEAR(weights[0].At(0, 1), .330, 5e-4);
  EXPECT_NEAR(weights[0].At(0, 0), kNearWeight, 1e-5);
  EXPECT_NEAR(weights[0].At(1, 0), kFarWeight, 1e-5);
  EXPECT_NEAR(weights[0].At(1, 1), kNearWeight, 1e-5);

  EXPECT_NEAR(activations_.attended.Row(0)[0], 1.34, 5e-3);
  EXPECT_NEAR(activations_.attended.Row(0)[1], .99, 5e-3);
  EXPECT_NEAR(activations_.attended.Row(1)[0], 2 * kFarWeight, 1e-5);
  EXPECT_NEAR(activations_.attended.Row(1)[1], 3 * kNearWeight, 1e-5);
  // The residual.
  EXPECT_NEAR(y.Row(0)[0], 1 + 2 * kNearWeight, 1e-5);
  EXPECT_NEAR(y.Row(0)[1], 3 * kFarWeight, 1e-5);
}

class CausalWorkedExampleTest : public WorkedExampleTest {
 protected:
  CausalWorkedExampleTest() : WorkedExampleTest(/*causal=*/true) {}
};

TEST_F(CausalWorkedExampleTest, TheFirstTokenSeesItselfAlone) {
  Matrix y(2, 2);
  const std::vector<double> positions = {0, 1};
  Layer().Forward(context_, {x_.view(), x_.view(), angles_, positions},
                  activations_, y.view());
  const std::vector<PlainMatrix> weights =
      AttentionWeights(activations_, config_.heads, 2);
  EXPECT_NEAR(weights[0].At(0, 0), 1, 1e-6);
  EXPECT_EQ(weights[0].At(0, 1), 0);
  EXPECT_NEAR(weights[0].At(1, 0), kFarWeight, 1e-5);
  EXPECT_NEAR(activations_.attended.Row(0)[0], 2, 1e-5);
  EXPECT_EQ(activations_.attended.Row(0)[1], 0);
}

// As a stream is served: keys and values stand in a cache.
TEST_F(CausalWorkedExampleTest, TheCacheGivesTheSame) {
  const MultiHeadAttention layer = Layer();
  layer.Project(context_, {x_.view(), x_.view(), angles_, {}}, activations_);
  KvLayer cache(config_, config_.layers[0]);
  Matrix queries(kTileRows, 2);
  for (int64_t i = 0; i < 2; ++i) {
    cache.Append(i, static_cast<double>(i), activations_.key.Row(i),
                 activations_.value.Row(i));
    std::copy_n(activations_.query.Row(i), 2, queries.Row(i));
  }
  const std::vector<QueryPlace> places = {{0, 0}, {1, 1}};
  Matrix weights;
  Matrix attended(kTileRows, 2);
  layer.Attend(queries.view().Rows(0, 2), places, cache.Runs(0, 2), cache,
               weights, attended.view());
  EXPECT_NEAR(weights.Row(0)[0], 1, 1e-6);
  EXPECT_EQ(weights.Row(0)[1], 0);
  EXPECT_NEAR(weights.Row(1)[0], kFarWeight, 1e-5);
  EXPECT_NEAR(weights.Row(1)[1], kNearWeight, 1e-5);
  EXPECT_NEAR(attended.Row(1)[0], 2 * kFarWeight, 1e-5);
  EXPECT_NEAR(attended.Row(1)[1], 3 * kNearWeight, 1e-5);
}

TEST(WorkedExampleOpsTest, TheOpsGiveItStepByStep) {
  Context context;
  Matrix queries(2, 2);
  queries.floats() = {1, 0, 0, 1};
  Matrix values(2, 2);
  values.floats() = {2, 0, 0, 3};
  Matrix weights(2, 2);
  Matrix outputs(2, 2);
  MatMul(context, queries.view(), queries.view().Transposed(), weights.view(),
         {.scale = 1 / std::sqrt(2.0F)});
  Softmax(context, weights.view(), weights.view());
  MatMul(context, weights.view(), values.view(), outputs.view());
  EXPECT_NEAR(weights.Row(0)[0], kNearWeight, 1e-6);
  EXPECT_NEAR(weights.Row(0)[1], kFarWeight, 1e-6);
  EXPECT_NEAR(outputs.Row(0)[0], 2 * kNearWeight, 1e-6);
  EXPECT_NEAR(outputs.Row(0)[1], 3 * kFarWeight, 1e-6);
}

// An attention layer between a random stem and a random input.
class AttentionLayerTest : public ::testing::TestWithParam<EncoderCase> {
 protected:
  AttentionLayerTest()
      : config_(GetParam().config),
        layer_(config_.layers.size() - 1),
        parameters_(RandomParameters(config_, 1)),
        attention_(config_, config_.layers[layer_],
                   parameters_.layers()[layer_].attention) {}

  void Forward(int64_t count) {
    x_ = RandomMatrix(count, config_.width, 2);
    stem_ = RandomMatrix(count, config_.width, 3);
    positions_ = Positions(count, GetParam().irregular, 50);
    y_.Resize(count, config_.width);
    ComputeAngles(RotaryFrequencies(config_), positions_, angles_);
    attention_.Forward(context_, {x_.view(), stem_.view(), angles_, positions_},
                       activations_, y_.view());
  }

  bool Sees(int head, int64_t query, int64_t key) const {
    const LayerConfig& layer = config_.layers[layer_];
    const int64_t lag = query - key;
    if (!config_.causal) return std::abs(lag) < layer.reach;
    return lag >= (head < layer.blind_heads ? layer.blind_span : 0) &&
           lag < layer.reach;
  }

  Context context_;
  const EncoderConfig config_;
  const size_t layer_;
  const Parameters parameters_;
  const MultiHeadAttention attention_;
  Matrix x_, stem_, y_;
  std::vector<double> positions_;
  RotaryAngles angles_;
  AttentionActivations activations_;
};

TEST_P(AttentionLayerTest, ForwardEqualsPlainLoops) {
  // Within a block of queries, at its edge, and over several.
  for (int64_t count : {1, 5, 64, 65, 150}) {
    Forward(count);
    PlainLayer plain;
    const PlainMatrix stem = ToPlain(stem_.view());
    const PlainMatrix y =
        PlainAttention(config_, layer_, ToPlain(parameters_),
                       ToPlain(x_.view()), {stem, positions_}, plain);
    EXPECT_TRUE(IsNear(activations_.query.view(), plain.query, 1e-5));
    EXPECT_TRUE(IsNear(activations_.key.view(), plain.key, 1e-5));
    EXPECT_TRUE(IsNear(activations_.value.view(), plain.value, 1e-5));
    EXPECT_TRUE(IsNear(activations_.attended.view(), plain.attended, 1e-5));
    EXPECT_TRUE(IsNear(y_.view(), y, 1e-5)) << count << " instants";
    const std::vector<PlainMatrix> weights =
        AttentionWeights(activations_, config_.heads, count);
    for (size_t head = 0; head < weights.size(); ++head) {
      EXPECT_TRUE(IsNear(weights[head], plain.weights[head], 1e-5))
          << count << " instants, head " << head;
    }
  }
}

TEST_P(AttentionLayerTest, WeightsSumToOneAndAreZeroOnWhatIsNotSeen) {
  constexpr int64_t kCount = 150;
  Forward(kCount);
  const std::vector<PlainMatrix> weights =
      AttentionWeights(activations_, config_.heads, kCount);
  for (int head = 0; head < config_.heads; ++head) {
    const PlainMatrix& of_head = weights[static_cast<size_t>(head)];
    for (int64_t i = 0; i < kCount; ++i) {
      double sum = of_head.At(i, kCount);
      int64_t seen = 0;
      for (int64_t j = 0; j < kCount; ++j) {
        sum += of_head.At(i, j);
        seen += of_head.At(i, j) > 0 ? 1 : 0;
        ASSERT_EQ(of_head.At(i, j) > 0, Sees(head, i, j)) << i << " on " << j;
      }
      EXPECT_NEAR(sum, 1, 1e-5) << "head " << head << " instant " << i;
      EXPECT_EQ(of_head.At(i, kCount) > 0, config_.null_logit);
      EXPECT_GT(seen + (config_.null_logit ? 1 : 0), 0);
    }
  }
}

TEST_P(AttentionLayerTest, BackwardEqualsFiniteDifferences) {
  constexpr int64_t kCount = 13;
  Forward(kCount);
  Parameters gradients(config_, 0);
  const Matrix dy = RandomMatrix(kCount, config_.width, 4);
  Matrix dx(kCount, config_.width);
  // Added to.
  Matrix dstem = RandomMatrix(kCount, config_.width, 5);
  const PlainMatrix dstem_before = ToPlain(dstem.view());
  attention_.Backward(
      context_, {x_.view(), stem_.view(), angles_, positions_}, activations_,
      dy.view(), gradients.layers()[layer_].attention, dx.view(), dstem.view());

  PlainTensors tensors = ToPlain(parameters_);
  const PlainTensors found = ToPlain(gradients);
  PlainMatrix x = ToPlain(x_.view());
  PlainMatrix stem = ToPlain(stem_.view());
  const auto loss = [&] {
    PlainLayer scratch;
    return PlainInner(PlainAttention(config_, layer_, tensors, x,
                                     {stem, positions_}, scratch),
                      ToPlain(dy.view()));
  };
  const std::string prefix =
      "encoder.layer." + std::to_string(layer_) + ".attention.";
  int compared = 0;
  for (auto& [name, tensor] : tensors) {
    if (!name.starts_with(prefix)) continue;
    EXPECT_TRUE(IsNear(found.at(name), PlainDerivative(tensor, loss), 1e-4))
        << name;
    ++compared;
  }
  EXPECT_EQ(compared, 10 + (config_.distance_bias ? 1 : 0) +
                          (config_.null_logit ? 1 : 0));
  EXPECT_TRUE(IsNear(dx.view(), PlainDerivative(x, loss), 1e-4));
  EXPECT_TRUE(IsNear(
      dstem.view(), PlainSum(dstem_before, PlainDerivative(stem, loss)), 1e-4));
}

INSTANTIATE_TEST_SUITE_P(Cases, AttentionLayerTest,
                         ::testing::ValuesIn(EncoderCases()),
                         [](const auto& parameter) {
                           return parameter.param.name;
                         });

// Mean over rows of the variance within a row.
double RowVariance(const PlainMatrix& x) {
  double variance = 0;
  const auto width = static_cast<double>(x.columns);
  for (int64_t r = 0; r < x.rows; ++r) {
    double mean = 0;
    for (int64_t c = 0; c < x.columns; ++c) mean += x.At(r, c) / width;
    for (int64_t c = 0; c < x.columns; ++c) {
      variance += (x.At(r, c) - mean) * (x.At(r, c) - mean) / width;
    }
  }
  return variance / static_cast<double>(x.rows);
}

struct ScoreVariance {
  double with_scale = 0;     // of the logarithms of the layer's weights
  double without_scale = 0;  // of its queries times its keys
};

// One head with queries and keys of variance one in each of `query_width`
// components, averaged over several draws.
ScoreVariance MeasureScores(int query_width) {
  constexpr int64_t kCount = 96;
  constexpr int kDraws = 8;
  Context context;
  EncoderConfig config = TextbookConfig();
  config.width = 64;
  config.heads = 1;
  config.query_width = query_width;
  config.causal = false;
  ScoreVariance variance;
  for (uint64_t draw = 0; draw < kDraws; ++draw) {
    Parameters parameters(config, 0);
    parameters.Initialize(draw + 1);
    const MultiHeadAttention layer(config, config.layers[0],
                                   parameters.layers()[0].attention);
    const Matrix x = RandomMatrix(kCount, config.width, draw + 50);
    Matrix y(kCount, config.width);
    AttentionActivations a;
    const RotaryAngles none;
    const std::vector<double> positions = Positions(kCount, false);
    layer.Forward(context, {x.view(), x.view(), none, positions}, a, y.view());
    PlainMatrix scores(kCount, kCount);
    const PlainMatrix weights = AttentionWeights(a, 1, kCount)[0];
    for (int64_t i = 0; i < kCount; ++i) {
      for (int64_t j = 0; j < kCount; ++j) {
        scores.At(i, j) = std::log(weights.At(i, j));
      }
    }
    variance.with_scale += RowVariance(scores) / kDraws;
    variance.without_scale +=
        RowVariance(PlainProduct(ToPlain(a.query.view()),
                                 PlainTransposed(ToPlain(a.key.view())))) /
        kDraws;
  }
  return variance;
}

TEST(ScoreVarianceTest, GrowsWithTheWidthOfQueriesUnlessScaledByItsRoot) {
  for (int query_width : {4, 16, 64, 256}) {
    const ScoreVariance variance = MeasureScores(query_width);
    EXPECT_NEAR(variance.without_scale / query_width, 1, 0.3)
        << "d_k = " << query_width;
    EXPECT_NEAR(variance.with_scale, 1, 0.3) << "d_k = " << query_width;
  }
}

}  // namespace
}  // namespace telltale::model
