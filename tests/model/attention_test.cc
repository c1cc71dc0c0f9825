#include "model/ops/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "hwy/targets.h"

#include "model/layers/score_mask.h"
#include "model/ops/matmul.h"
#include "model/ops/softmax.h"
#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"

namespace telltale::model {
namespace {

// The instruction sets that this processor has, best first.
std::vector<int64_t> Targets() {
  std::vector<int64_t> targets;
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    targets.push_back(left & -left);
  }
  return targets;
}

// One head, keys of which each query sees all to a band.
class AttentionTest : public ::testing::TestWithParam<int64_t> {
 protected:
  static constexpr int64_t kQueries = 11;

  struct Result {
    Matrix weights;   // [queries, columns + a block]
    Matrix attended;  // [queries, value_width]
  };

  void SetUp() override {
    const int64_t all = hwy::SupportedTargets();
    // Lower bits are better instruction sets.
    hwy::SetSupportedTargetsForTest(all & ~(GetParam() - 1));
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }

  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }

  void Draw(int64_t columns, int query_width, int value_width) {
    queries_ = RandomMatrix(kQueries, query_width, 1);
    keys_ = RandomMatrix(query_width, KeyStride(columns), 2);
    values_ = RandomMatrix(value_width, KeyStride(columns), 3);
    head_ = {.keys = keys_.data(),
             .values = values_.data(),
             .stride = KeyStride(columns),
             .columns = columns,
             .query_width = query_width,
             .value_width = value_width};
    // Query q sees the keys from 5 q on up to 20 + 7 q, and nothing.
    bias_ = RandomMatrix(kQueries, columns + kKeyBlock, 4);
    for (int64_t q = 0; q < kQueries; ++q) {
      for (int64_t c = 0; c < bias_.columns(); ++c) {
        const bool seen = 5 * q <= c && c < 20 + 7 * q && c < columns;
        if (!seen && c != columns) bias_.Row(q)[c] = kMasked;
      }
    }
  }

  // With the queries in calls of so many.
  Result Attend(size_t together, const std::vector<KeyRange>& seen) const {
    Result result = {bias_, Matrix(kQueries, head_.value_width)};
    std::vector<HeadQuery> queries;
    for (int64_t q = 0; q < kQueries; ++q) {
      queries.push_back(
          {queries_.Row(q), result.weights.Row(q), result.attended.Row(q)});
    }
    for (size_t q = 0; q < queries.size(); q += together) {
      telltale::model::Attend(head_, kScale, seen,
                              std::span(queries).subspan(
                                  q, std::min(together, queries.size() - q)));
    }
    return result;
  }

  Result Attend() const { return Attend(kQueries, {{0, head_.columns}}); }

  static constexpr float kScale = 0.4F;
  Matrix queries_, keys_, values_, bias_;
  HeadKeys head_;
};

TEST_P(AttentionTest, EqualsTheProductsAndTheSoftmaxOfOneDnn) {
  Context context;
  for (const auto& [columns, query_width, value_width] :
       {std::array{16, 2, 1}, {48, 16, 8}, {64, 10, 6}, {288, 16, 16}}) {
    Draw(columns, query_width, value_width);
    const Result found = Attend();

    Matrix weights = bias_;
    const MatrixView scores = weights.view().Columns(0, columns);
    MatMul(context, queries_.view(), keys_.view().Columns(0, columns), scores,
           {.scale = kScale, .accumulate = true});
    Softmax(context, weights.view(), weights.view());
    Matrix attended(kQueries, value_width);
    MatMul(context, scores, values_.view().Columns(0, columns).Transposed(),
           attended.view());
    EXPECT_TRUE(IsNear(found.weights, weights, 1e-6)) << columns << " keys";
    EXPECT_TRUE(IsNear(found.attended, attended, 1e-5)) << columns << " keys";
  }
}

TEST_P(AttentionTest, GivesTheSameBitsHoweverQueriesAreGrouped) {
  Draw(112, 16, 8);
  const Result all = Attend();
  for (size_t together : {1, 2, 3, 4, 5, 8}) {
    const Result found = Attend(together, {{0, 112}});
    EXPECT_TRUE(HasBits(found.weights, all.weights)) << together;
    EXPECT_TRUE(HasBits(found.attended, all.attended)) << together;
  }
}

TEST_P(AttentionTest, LeavingOutMaskedKeysChangesNoBit) {
  Draw(112, 16, 8);
  for (int64_t c = 0; c < 112; ++c) {
    if (16 <= c && c < 32) continue;
    if (64 <= c && c < 96) continue;
    for (int64_t q = 0; q < kQueries; ++q) bias_.Row(q)[c] = kMasked;
  }
  const Result all = Attend();
  const Result some = Attend(kQueries, {{16, 32}, {64, 96}});
  EXPECT_TRUE(HasBits(some.weights, all.weights));
  EXPECT_TRUE(HasBits(some.attended, all.attended));
}

TEST_P(AttentionTest, WeighsMaskedKeysWithZeroExactlyAndTheRestWithOne) {
  Draw(112, 16, 8);
  const Result found = Attend();
  for (int64_t q = 0; q < kQueries; ++q) {
    double sum = 0;
    for (int64_t c = 0; c < bias_.columns(); ++c) {
      const float weight = found.weights.Row(q)[c];
      if (bias_.Row(q)[c] == kMasked) {
        EXPECT_EQ(weight, 0.0F) << q << ", " << c;
      }
      sum += weight;
    }
    EXPECT_NEAR(sum, 1, 1e-6);
  }
}

TEST_P(AttentionTest, MayAttendToNothingAlone) {
  Draw(48, 16, 8);
  for (int64_t q = 0; q < kQueries; ++q) {
    std::fill_n(bias_.Row(q), 48, kMasked);
  }
  const Result found = Attend(kQueries, {});
  for (int64_t q = 0; q < kQueries; ++q) {
    EXPECT_EQ(found.weights.Row(q)[48], 1.0F);
    for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(found.attended.Row(q)[i], 0.0F);
  }
}

// What is larger than a float's exponent can hold is no reason to overflow.
TEST_P(AttentionTest, StaysFiniteWithLargeScores) {
  Draw(48, 16, 8);
  for (float& key : keys_.floats()) key *= 1e4F;
  const Result found = Attend();
  for (float value : found.attended.floats()) {
    EXPECT_TRUE(std::isfinite(value));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, AttentionTest, ::testing::ValuesIn(Targets()),
                         [](const auto& parameter) -> std::string {
                           return hwy::TargetName(parameter.param);
                         });

}  // namespace
}  // namespace telltale::model
