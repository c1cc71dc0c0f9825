#include "model/ops/layer_norm.h"

#include <vector>

#include "gtest/gtest.h"

#include "model/layers/norm.h"
#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"
#include "tests/support/plain_math.h"

namespace telltale::model {
namespace {

struct Normed {
  Matrix y;
  std::vector<float> mean, variance;
};

Normed Normalize(Context& context, const Matrix& x, const Matrix& scale,
                 const Matrix& shift) {
  Normed normed;
  normed.y.Resize(x.rows(), x.columns());
  normed.mean.resize(static_cast<size_t>(x.rows()));
  normed.variance.resize(static_cast<size_t>(x.rows()));
  LayerNorm(context, x.view(), scale.data(), shift.data(),
            {normed.mean.data(), normed.variance.data()}, normed.y.view());
  return normed;
}

TEST(LayerNormTest, EqualsPlainLoops) {
  Context context;
  for (int64_t rows : {1, 16, 33}) {
    for (int64_t width : {2, 16, 32, 50}) {
      Matrix x = RandomMatrix(rows, width, 1);
      for (float& value : x.floats()) value = 3 * value + 5;
      const Matrix scale = RandomMatrix(1, width, 2);
      const Matrix shift = RandomMatrix(1, width, 3);
      const Normed normed = Normalize(context, x, scale, shift);
      EXPECT_TRUE(
          IsNear(normed.y.view(),
                 PlainLayerNorm(ToPlain(x.view()), ToPlain(scale.view()),
                                ToPlain(shift.view())),
                 2e-5))
          << rows << " x " << width;
    }
  }
}

TEST(LayerNormTest, KeepsMeanAndVarianceOfEachRow) {
  Context context;
  Matrix x(2, 4);
  x.floats() = {1, 2, 3, 4, -2, -2, 2, 2};
  Matrix scale(1, 4);
  scale.floats() = {1, 1, 1, 1};
  const Matrix shift(1, 4);
  const Normed normed = Normalize(context, x, scale, shift);
  EXPECT_FLOAT_EQ(normed.mean[0], 2.5F);
  EXPECT_FLOAT_EQ(normed.variance[0], 1.25F);
  EXPECT_FLOAT_EQ(normed.mean[1], 0);
  EXPECT_FLOAT_EQ(normed.variance[1], 4);
}

TEST(LayerNormTest, OfAConstantRowIsTheShift) {
  Context context;
  Matrix x(3, 8);
  for (float& value : x.floats()) value = 7;
  const Matrix scale = RandomMatrix(1, 8, 2);
  const Matrix shift = RandomMatrix(1, 8, 3);
  const Normed normed = Normalize(context, x, scale, shift);
  for (int64_t r = 0; r < 3; ++r) {
    EXPECT_TRUE(HasBits(normed.y.view().Rows(r, 1), shift.view()));
  }
}

TEST(LayerNormTest, BackwardEqualsFiniteDifferences) {
  Context context;
  const Matrix x = RandomMatrix(11, 20, 1);
  const Matrix scale = RandomMatrix(1, 20, 2);
  const Matrix shift = RandomMatrix(1, 20, 3);
  const Matrix dy = RandomMatrix(11, 20, 4);
  Normed normed = Normalize(context, x, scale, shift);
  Matrix dx(11, 20);
  // Overwritten, not added to.
  Matrix dscale = RandomMatrix(1, 20, 5);
  Matrix dshift = RandomMatrix(1, 20, 6);
  LayerNormBackward(context, x.view(), scale.data(),
                    {normed.mean.data(), normed.variance.data()}, dy.view(),
                    dx.view(), {dscale.data(), dshift.data()});

  PlainMatrix plain_x = ToPlain(x.view());
  PlainMatrix plain_scale = ToPlain(scale.view());
  PlainMatrix plain_shift = ToPlain(shift.view());
  const auto loss = [&] {
    return PlainInner(PlainLayerNorm(plain_x, plain_scale, plain_shift),
                      ToPlain(dy.view()));
  };
  EXPECT_TRUE(IsNear(dx.view(), PlainDerivative(plain_x, loss), 2e-5));
  EXPECT_TRUE(IsNear(dscale.view(), PlainDerivative(plain_scale, loss), 2e-5));
  EXPECT_TRUE(IsNear(dshift.view(), PlainDerivative(plain_shift, loss), 2e-5));
}

TEST(LayerNormTest, TheLayerAddsToItsGradients) {
  Context context;
  const Matrix x = RandomMatrix(5, 8, 1);
  Matrix scale = RandomMatrix(1, 8, 2);
  Matrix shift = RandomMatrix(1, 8, 3);
  const Matrix dy = RandomMatrix(5, 8, 4);
  const NormParameters norm = {scale.data(), shift.data()};
  NormActivations activations;
  NormForward(context, norm, x.view(), activations);
  Matrix dx(5, 8);
  Matrix once(2, 8);
  Matrix twice(2, 8);
  NormBackward(context, norm, x.view(), activations, dy.view(),
               {once.Row(0), once.Row(1)}, dx.view());
  for (int pass = 0; pass < 2; ++pass) {
    NormBackward(context, norm, x.view(), activations, dy.view(),
                 {twice.Row(0), twice.Row(1)}, dx.view());
  }
  for (size_t i = 0; i < once.floats().size(); ++i) {
    EXPECT_NE(once.floats()[i], 0);
    EXPECT_FLOAT_EQ(twice.floats()[i], 2 * once.floats()[i]);
  }
}

}  // namespace
}  // namespace telltale::model
