#include "model/layers/linear.h"

#include "gtest/gtest.h"

#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"
#include "tests/support/plain_math.h"

namespace telltale::model {
namespace {

constexpr int64_t kRows = 13;
constexpr int kInputs = 6;
constexpr int kOutputs = 9;

class LinearTest : public ::testing::Test {
 protected:
  LinearParameters Layer(bool bias = true) {
    return {weight_.data(), bias ? bias_.data() : nullptr, kInputs, kOutputs};
  }
  PlainMatrix Expected(bool bias = true) const {
    return PlainLinear(ToPlain(x_.view()), ToPlain(weight_.view()),
                       bias ? ToPlain(bias_.view()) : PlainMatrix());
  }

  Context context_;
  Matrix weight_ = RandomMatrix(kInputs, kOutputs, 1);
  Matrix bias_ = RandomMatrix(1, kOutputs, 2);
  const Matrix x_ = RandomMatrix(kRows, kInputs, 3);
  const Matrix dy_ = RandomMatrix(kRows, kOutputs, 4);
};

TEST_F(LinearTest, ForwardEqualsPlainLoops) {
  Matrix y(kRows, kOutputs);
  LinearForward(context_, Layer(), x_.view(), y.view());
  EXPECT_TRUE(IsNear(y.view(), Expected(), 1e-5));
}

TEST_F(LinearTest, WorksWithoutBias) {
  Matrix y(kRows, kOutputs);
  LinearForward(context_, Layer(false), x_.view(), y.view());
  EXPECT_TRUE(IsNear(y.view(), Expected(false), 1e-5));
}

TEST_F(LinearTest, AddsToItsResultWhenAsked) {
  Matrix y = RandomMatrix(kRows, kOutputs, 5);
  const PlainMatrix before = ToPlain(y.view());
  LinearForward(context_, Layer(), x_.view(), y.view(), /*accumulate=*/true);
  EXPECT_TRUE(IsNear(y.view(), PlainSum(before, Expected()), 1e-5));
}

TEST_F(LinearTest, AddsItsGradients) {
  Matrix dweight = RandomMatrix(kInputs, kOutputs, 6);
  Matrix dbias = RandomMatrix(1, kOutputs, 7);
  const PlainMatrix dweight_before = ToPlain(dweight.view());
  const PlainMatrix dbias_before = ToPlain(dbias.view());
  LinearGradients(context_, x_.view(), dy_.view(),
                  {dweight.data(), dbias.data(), kInputs, kOutputs});

  PlainMatrix weight = ToPlain(weight_.view());
  PlainMatrix bias = ToPlain(bias_.view());
  const auto loss = [&] {
    return PlainInner(PlainLinear(ToPlain(x_.view()), weight, bias),
                      ToPlain(dy_.view()));
  };
  EXPECT_TRUE(IsNear(dweight.view(),
                     PlainSum(dweight_before, PlainDerivative(weight, loss)),
                     2e-5));
  EXPECT_TRUE(IsNear(
      dbias.view(), PlainSum(dbias_before, PlainDerivative(bias, loss)), 2e-5));
}

TEST_F(LinearTest, BackwardWritesOrAddsTheGradientOfItsInput) {
  PlainMatrix x = ToPlain(x_.view());
  const PlainMatrix expected = PlainDerivative(x, [&] {
    return PlainInner(
        PlainLinear(x, ToPlain(weight_.view()), ToPlain(bias_.view())),
        ToPlain(dy_.view()));
  });
  Matrix dx = RandomMatrix(kRows, kInputs, 8);
  LinearBackward(context_, Layer(), dy_.view(), dx.view());
  EXPECT_TRUE(IsNear(dx.view(), expected, 2e-5));
  LinearBackward(context_, Layer(), dy_.view(), dx.view(), true);
  EXPECT_TRUE(IsNear(dx.view(), PlainSum(expected, expected), 4e-5));
}

}  // namespace
}  // namespace telltale::model
