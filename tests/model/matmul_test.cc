#include "model/ops/matmul.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"
#include "tests/support/plain_math.h"

namespace telltale::model {
namespace {

// A view of [batch][rows, columns] in a buffer of random floats that is larger
// than it, with gaps between rows and between matrices.
class Operand {
 public:
  Operand(int64_t rows, int64_t columns, int64_t batch, bool transposed,
          uint64_t seed)
      : buffer_(RandomMatrix(batch, (rows + 2) * (columns + 2) + 5, seed)) {
    const int64_t stored_rows = transposed ? columns : rows;
    const int64_t stored_columns = transposed ? rows : columns;
    view_ = {.data = buffer_.data(),
             .rows = stored_rows,
             .columns = stored_columns,
             .row_stride = stored_columns + 2,
             .batch = batch,
             .batch_stride = batch == 1 ? 0 : buffer_.columns()};
    if (transposed) view_ = view_.Transposed();
  }

  MatrixView view() const { return view_; }
  const Matrix& buffer() const { return buffer_; }

 private:
  Matrix buffer_;
  MatrixView view_;
};

struct Variant {
  bool a_transposed, b_transposed, c_transposed, accumulate, bias;
  int64_t batch;
  float scale;

  std::string Describe() const {
    return "a' " + std::to_string(a_transposed) + " b' " +
           std::to_string(b_transposed) + " c' " +
           std::to_string(c_transposed) + " accumulate " +
           std::to_string(accumulate) + " bias " + std::to_string(bias) +
           " batch " + std::to_string(batch) + " scale " +
           std::to_string(scale);
  }
};

std::vector<Variant> Variants() {
  std::vector<Variant> variants;
  for (int bits = 0; bits < 32; ++bits) {
    for (int64_t batch : {1, 3}) {
      for (float scale : {1.0F, 0.25F}) {
        variants.push_back({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                            (bits & 8) != 0, (bits & 16) != 0, batch, scale});
      }
    }
  }
  return variants;
}

// scale * (a·b + bias) of matrix m, added to c if the variant says so.
PlainMatrix Expected(const Variant& v, int64_t m, const Operand& a,
                     const Operand& b, const Operand& c, const Matrix& bias) {
  PlainMatrix product =
      v.bias ? PlainLinear(ToPlain(a.view(), m), ToPlain(b.view(), m),
                           ToPlain(bias.view()))
             : PlainProduct(ToPlain(a.view(), m), ToPlain(b.view(), m));
  for (double& value : product.values) value *= v.scale;
  return v.accumulate ? PlainSum(product, ToPlain(c.view(), m)) : product;
}

void ExpectProduct(Context& context, const Variant& v, int64_t rows,
                   int64_t inner, int64_t columns) {
  const Operand a(rows, inner, v.batch, v.a_transposed, 1);
  const Operand b(inner, columns, v.batch, v.b_transposed, 2);
  const Operand c(rows, columns, v.batch, v.c_transposed, 3);
  const Matrix bias = RandomMatrix(1, columns, 4);
  std::vector<PlainMatrix> expected;
  for (int64_t m = 0; m < v.batch; ++m) {
    expected.push_back(Expected(v, m, a, b, c, bias));
  }

  MatMul(context, a.view(), b.view(), c.view(),
         {.scale = v.scale,
          .accumulate = v.accumulate,
          .bias = v.bias ? bias.data() : nullptr});

  for (int64_t m = 0; m < v.batch; ++m) {
    EXPECT_TRUE(IsNear(ToPlain(c.view(), m), expected[static_cast<size_t>(m)],
                       1e-5 * std::sqrt(static_cast<double>(inner)) + 1e-5))
        << v.Describe() << ", matrix " << m;
  }
}

TEST(MatMulTest, EqualsPlainLoopsTransposedStridedAndBatched) {
  Context context;
  for (const Variant& variant : Variants()) {
    ExpectProduct(context, variant, 16, 24, 12);
  }
}

TEST(MatMulTest, EqualsPlainLoopsForAwkwardShapes) {
  Context context;
  const Variant plain = {false, false, false, false, false, 1, 1};
  for (int64_t rows : {1, 3, 64, 65}) {
    for (int64_t inner : {1, 5, 33}) {
      for (int64_t columns : {1, 7, 129}) {
        ExpectProduct(context, plain, rows, inner, columns);
      }
    }
  }
}

TEST(MatMulTest, LeavesTheGapsOfAStridedResultAlone) {
  Context context;
  const Operand a(5, 4, 2, false, 1);
  const Operand b(4, 3, 2, false, 2);
  const Operand c(5, 3, 2, false, 3);
  const AlignedFloats before = c.buffer().floats();
  MatMul(context, a.view(), b.view(), c.view());
  std::vector<bool> inside(before.size(), false);
  for (int64_t m = 0; m < 2; ++m) {
    for (int64_t r = 0; r < 5; ++r) {
      for (int64_t i = 0; i < 3; ++i) {
        inside[static_cast<size_t>(m * c.view().batch_stride +
                                   r * c.view().row_stride + i)] = true;
      }
    }
  }
  for (size_t i = 0; i < inside.size(); ++i) {
    if (inside[i]) continue;
    EXPECT_EQ(c.buffer().floats()[i], before[i]) << "at " << i;
  }
}

TEST(MatMulTest, CutsColumnsIntoHeads) {
  Context context;
  const Matrix query = RandomMatrix(6, 8, 1);
  const Matrix key = RandomMatrix(9, 8, 2);
  Matrix scores(12, 9);
  const MatrixView by_head = {.data = scores.data(),
                              .rows = 6,
                              .columns = 9,
                              .row_stride = 9,
                              .batch = 2,
                              .batch_stride = 54};
  MatMul(context, query.view().Heads(2), key.view().Heads(2).Transposed(),
         by_head);
  for (int64_t head = 0; head < 2; ++head) {
    const PlainMatrix q = ToPlain(query.view().Columns(4 * head, 4));
    const PlainMatrix k = ToPlain(key.view().Columns(4 * head, 4));
    EXPECT_TRUE(IsNear(ToPlain(by_head, head),
                       PlainProduct(q, PlainTransposed(k)), 1e-5))
        << "head " << head;
  }
}

// c = a·b, hence da = dc·b' and db = a'·dc.
TEST(MatMulTest, GivesItsOwnGradients) {
  Context context;
  const Matrix a = RandomMatrix(7, 5, 1);
  const Matrix b = RandomMatrix(5, 6, 2);
  const Matrix dc = RandomMatrix(7, 6, 3);
  Matrix da(7, 5);
  Matrix db(5, 6);
  MatMul(context, dc.view(), b.view().Transposed(), da.view());
  MatMul(context, a.view().Transposed(), dc.view(), db.view());

  PlainMatrix plain_a = ToPlain(a.view());
  PlainMatrix plain_b = ToPlain(b.view());
  const auto loss = [&] {
    return PlainInner(PlainProduct(plain_a, plain_b), ToPlain(dc.view()));
  };
  EXPECT_TRUE(IsNear(da.view(), PlainDerivative(plain_a, loss), 1e-4));
  EXPECT_TRUE(IsNear(db.view(), PlainDerivative(plain_b, loss), 1e-4));
}

TEST(MatMulTest, BuildsAPrimitiveOnceForEachShape) {
  Context context;
  const Matrix a = RandomMatrix(4, 4, 1);
  const Matrix b = RandomMatrix(4, 4, 2);
  Matrix c(4, 4);
  MatMul(context, a.view(), b.view(), c.view());
  EXPECT_EQ(context.primitive_count(), 1);
  MatMul(context, b.view(), a.view(), c.view());
  EXPECT_EQ(context.primitive_count(), 1);
  MatMul(context, a.view(), b.view().Transposed(), c.view());
  EXPECT_EQ(context.primitive_count(), 2);
}

}  // namespace
}  // namespace telltale::model
