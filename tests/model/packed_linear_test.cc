#include "model/ops/packed_linear.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"
#include "tests/support/plain_math.h"

namespace telltale::model {
namespace {

constexpr int kInputs = 24;
constexpr int kOutputs = 40;
constexpr int64_t kRows = 256;

class PackedLinearTest : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    if (!IsSupported(GetParam())) {
      GTEST_SKIP() << "this processor has no " << PrecisionName(GetParam());
    }
  }

  LinearParameters Layer() {
    return {weight_.data(), bias_.data(), kInputs, kOutputs};
  }

  // What bf16 leaves of products of `kInputs` terms of about 1.
  double tolerance() const {
    return GetParam() == Precision::kFloat32 ? 1e-5 : 0.15;
  }

  Matrix Product(PackedLinear& linear, const ConstMatrixView& x) {
    Operand operand(GetParam());
    operand.Assign(x);
    Matrix y(x.rows, linear.outputs());
    linear.Run(operand, y.view());
    return y;
  }

  Context context_;
  Matrix weight_ = RandomMatrix(kInputs, kOutputs, 1);
  Matrix bias_ = RandomMatrix(1, kOutputs, 2);
  const Matrix x_ = RandomMatrix(kRows, kInputs, 3);
  const PlainMatrix expected_ = PlainLinear(
      ToPlain(x_.view()), ToPlain(weight_.view()), ToPlain(bias_.view()));
};

TEST_P(PackedLinearTest, EqualsPlainLoops) {
  const LinearParameters layer = Layer();
  PackedLinear linear(context_, {&layer, 1}, GetParam());
  EXPECT_TRUE(
      IsNear(Product(linear, x_.view()).view(), expected_, tolerance()));
}

TEST_P(PackedLinearTest, ARowIsTheSameHoweverManyAreComputedTogether) {
  const LinearParameters layer = Layer();
  PackedLinear linear(context_, {&layer, 1}, GetParam());
  const Matrix whole = Product(linear, x_.view());
  const int64_t step = linear.row_multiple();
  for (int64_t rows = step; rows < kRows; rows += step) {
    const Matrix part = Product(linear, x_.view().Rows(kRows - rows, rows));
    ASSERT_TRUE(std::ranges::equal(
        part.floats(), std::span(whole.floats()).last(part.floats().size())))
        << rows << " rows";
  }
}

TEST_P(PackedLinearTest, AppliesTheExactGelu) {
  const LinearParameters layer = Layer();
  PackedLinear linear(context_, {&layer, 1}, GetParam(), {.gelu = true});
  EXPECT_TRUE(IsNear(Product(linear, x_.view()).view(), PlainGelu(expected_),
                     tolerance()));
}

TEST_P(PackedLinearTest, AddsToItsResultWhenAsked) {
  const LinearParameters layer = Layer();
  PackedLinear linear(context_, {&layer, 1}, GetParam(), {.accumulate = true});
  Operand x(GetParam());
  x.Assign(x_.view());
  Matrix y = RandomMatrix(kRows, kOutputs, 4);
  const PlainMatrix before = ToPlain(y.view());
  linear.Run(x, y.view());
  EXPECT_TRUE(IsNear(y.view(), PlainSum(before, expected_), tolerance()));
}

TEST_P(PackedLinearTest, PutsLayersSideBySideWithOrWithoutBias) {
  Matrix weight = RandomMatrix(kInputs, 7, 5);
  const std::vector<LinearParameters> layers = {
      Layer(), {weight.data(), nullptr, kInputs, 7}};
  PackedLinear linear(context_, layers, GetParam());
  ASSERT_EQ(linear.outputs(), kOutputs + 7);
  const Matrix y = Product(linear, x_.view());
  EXPECT_TRUE(
      IsNear(ToPlain(y.view().Columns(0, kOutputs)), expected_, tolerance()));
  EXPECT_TRUE(IsNear(
      ToPlain(y.view().Columns(kOutputs, 7)),
      PlainLinear(ToPlain(x_.view()), ToPlain(weight.view()), PlainMatrix()),
      tolerance()));
}

TEST_P(PackedLinearTest, HandsItsResultToTheNextProduct) {
  const LinearParameters first = Layer();
  Matrix weight = RandomMatrix(kOutputs, 5, 6);
  const LinearParameters second = {weight.data(), nullptr, kOutputs, 5};
  PackedLinear a(context_, {&first, 1}, GetParam());
  PackedLinear b(context_, {&second, 1}, GetParam());
  Operand x(GetParam());
  Operand between(GetParam());
  x.Assign(x_.view());
  a.Run(x, between);
  Matrix y(kRows, 5);
  b.Run(between, y.view());
  EXPECT_TRUE(IsNear(
      y.view(), PlainLinear(expected_, ToPlain(weight.view()), PlainMatrix()),
      10 * tolerance()));
}

INSTANTIATE_TEST_SUITE_P(Precisions, PackedLinearTest,
                         ::testing::Values(Precision::kFloat32,
                                           Precision::kBfloat16),
                         [](const auto& tested) {
                           return std::string(PrecisionName(tested.param));
                         });

}  // namespace
}  // namespace telltale::model
