#include "model/ops/gelu.h"

#include <cmath>
#include <numbers>

#include "gtest/gtest.h"

#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"
#include "tests/support/plain_math.h"

namespace telltale::model {
namespace {

// From -8 to 8, so that both tails are seen.
Matrix Sweep() {
  Matrix x(4, 321);
  for (size_t i = 0; i < x.floats().size(); ++i) {
    x.floats()[i] = -8 + 16 * static_cast<float>(i) / 1283;
  }
  return x;
}

TEST(GeluTest, IsTheExactFormWithErf) {
  Context context;
  const Matrix x = Sweep();
  Matrix y(4, 321);
  Gelu(context, x.view(), y.view());
  EXPECT_TRUE(IsNear(y.view(), PlainGelu(ToPlain(x.view())), 2e-6));
}

// The usual approximation with tanh differs by up to 4.7e-4.
TEST(GeluTest, IsNotTheApproximationWithTanh) {
  Context context;
  Matrix x(1, 1);
  x.data()[0] = 2.3F;
  Matrix y(1, 1);
  Gelu(context, x.view(), y.view());
  const double tanh_form = 0.5 * 2.3 *
                           (1 + std::tanh(std::sqrt(2 / std::numbers::pi) *
                                          (2.3 + 0.044715 * 2.3 * 2.3 * 2.3)));
  EXPECT_GT(std::abs(y.data()[0] - tanh_form), 5e-5);
  EXPECT_NEAR(y.data()[0], PlainGelu(2.3), 2e-6);
}

TEST(GeluTest, MayOverwriteItsArgument) {
  Context context;
  Matrix x = Sweep();
  const PlainMatrix expected = PlainGelu(ToPlain(x.view()));
  Gelu(context, x.view(), x.view());
  EXPECT_TRUE(IsNear(x.view(), expected, 2e-6));
}

TEST(GeluTest, BackwardIsTheDerivative) {
  Context context;
  const Matrix x = Sweep();
  const Matrix dy = RandomMatrix(4, 321, 1);
  PlainMatrix expected = ToPlain(dy.view());
  for (size_t i = 0; i < expected.values.size(); ++i) {
    expected.values[i] *= PlainGeluDerivative(x.floats()[i]);
  }
  Matrix dx(4, 321);
  GeluBackward(context, x.view(), dy.view(), dx.view());
  EXPECT_TRUE(IsNear(dx.view(), expected, 5e-6));

  Matrix in_place = dy;
  GeluBackward(context, x.view(), in_place.view(), in_place.view());
  EXPECT_TRUE(IsNear(in_place.view(), expected, 5e-6));
}

TEST(GeluTest, ThePlainDerivativeIsRight) {
  for (double x : {-3.0, -0.7, 0.0, 0.4, 2.5}) {
    double moving = x;
    EXPECT_NEAR(PlainGeluDerivative(x),
                PlainDerivative(moving, [&] { return PlainGelu(moving); }),
                1e-8);
  }
}

}  // namespace
}  // namespace telltale::model
