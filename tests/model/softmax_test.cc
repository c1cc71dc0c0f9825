#include "model/ops/softmax.h"

#include <numeric>

#include "gtest/gtest.h"

#include "model/layers/score_mask.h"
#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"
#include "tests/support/plain_math.h"

namespace telltale::model {
namespace {

TEST(SoftmaxTest, EqualsPlainLoops) {
  Context context;
  for (int64_t rows : {1, 16, 37}) {
    for (int64_t columns : {1, 5, 16, 304}) {
      const Matrix x = RandomMatrix(rows, columns, 1);
      Matrix y(rows, columns);
      Softmax(context, x.view(), y.view());
      EXPECT_TRUE(IsNear(y.view(), PlainSoftmax(ToPlain(x.view())), 1e-6))
          << rows << " x " << columns;
    }
  }
}

TEST(SoftmaxTest, MayOverwriteItsArgument) {
  Context context;
  Matrix x = RandomMatrix(8, 20, 1);
  const PlainMatrix expected = PlainSoftmax(ToPlain(x.view()));
  Softmax(context, x.view(), x.view());
  EXPECT_TRUE(IsNear(x.view(), expected, 1e-6));
}

TEST(SoftmaxTest, RowsSumToOneWhateverTheirSize) {
  Context context;
  Matrix x = RandomMatrix(32, 288, 1);
  for (float& score : x.floats()) score = 30 * score + 100;
  Softmax(context, x.view(), x.view());
  for (int64_t r = 0; r < x.rows(); ++r) {
    const float* row = x.Row(r);
    EXPECT_NEAR(std::accumulate(row, row + x.columns(), 0.0), 1, 1e-5);
  }
}

TEST(SoftmaxTest, GivesMaskedScoresTheWeightZeroExactly) {
  Context context;
  Matrix x = RandomMatrix(16, 48, 1);
  for (int64_t r = 0; r < x.rows(); ++r) {
    // What a product adds to the mask makes no difference.
    for (int64_t c = r + 1; c < x.columns(); ++c) x.Row(r)[c] += kMasked;
  }
  Softmax(context, x.view(), x.view());
  for (int64_t r = 0; r < x.rows(); ++r) {
    double seen = 0;
    for (int64_t c = 0; c <= r; ++c) seen += x.Row(r)[c];
    EXPECT_NEAR(seen, 1, 1e-6);
    for (int64_t c = r + 1; c < x.columns(); ++c) {
      EXPECT_EQ(x.Row(r)[c], 0.0F) << "row " << r << " column " << c;
    }
  }
}

TEST(SoftmaxTest, TakesABatchAsRows) {
  Context context;
  Matrix x = RandomMatrix(12, 10, 1);
  const PlainMatrix expected = PlainSoftmax(ToPlain(x.view()));
  const MatrixView batch = {.data = x.data(),
                            .rows = 4,
                            .columns = 10,
                            .row_stride = 10,
                            .batch = 3,
                            .batch_stride = 40};
  Softmax(context, batch, batch);
  EXPECT_TRUE(IsNear(x.view(), expected, 1e-6));
}

TEST(SoftmaxTest, BackwardEqualsTheJacobianWrittenOut) {
  Context context;
  for (int64_t columns : {2, 7, 32, 113}) {
    const Matrix x = RandomMatrix(9, columns, 1);
    const Matrix dy = RandomMatrix(9, columns, 2);
    Matrix y(9, columns);
    Matrix dx(9, columns);
    Softmax(context, x.view(), y.view());
    SoftmaxBackward(context, y.view(), dy.view(), dx.view());
    const PlainMatrix expected = PlainSoftmaxBackward(
        PlainSoftmax(ToPlain(x.view())), ToPlain(dy.view()));
    EXPECT_TRUE(IsNear(dx.view(), expected, 1e-6)) << columns << " columns";

    Matrix in_place = dy;
    SoftmaxBackward(context, y.view(), in_place.view(), in_place.view());
    EXPECT_TRUE(IsNear(in_place.view(), expected, 1e-6)) << "in place";
  }
}

TEST(SoftmaxTest, TheJacobianWrittenOutIsTheDerivative) {
  PlainMatrix x = ToPlain(RandomMatrix(3, 6, 1).view());
  const PlainMatrix dy = ToPlain(RandomMatrix(3, 6, 2).view());
  const PlainMatrix derivative =
      PlainDerivative(x, [&] { return PlainInner(PlainSoftmax(x), dy); });
  EXPECT_TRUE(
      IsNear(PlainSoftmaxBackward(PlainSoftmax(x), dy), derivative, 1e-8));
}

}  // namespace
}  // namespace telltale::model
