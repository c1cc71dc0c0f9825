#include "model/ops/operand.h"

#include <bit>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"
#include "tests/support/plain_math.h"

namespace telltale::model {
namespace {

float Float(uint16_t half) {
  return std::bit_cast<float>(uint32_t{half} << 16);
}

// The operand's values, as floats.
Matrix Values(const Operand& x) {
  Matrix values(x.rows(), x.columns());
  for (int64_t row = 0; row < x.rows(); ++row) {
    for (int64_t column = 0; column < x.columns(); ++column) {
      values.Row(row)[column] =
          x.precision() == Precision::kFloat32
              ? static_cast<const float*>(x.Row(row))[column]
              : Float(static_cast<const uint16_t*>(x.Row(row))[column]);
    }
  }
  return values;
}

TEST(OperandTest, StandsForFloatsAsTheyAre) {
  const Matrix x = RandomMatrix(3, 5, 1);
  Operand operand(Precision::kFloat32);
  operand.Assign(x.view());
  EXPECT_EQ(operand.Row(0), x.data());
  EXPECT_EQ(operand.Row(2), x.Row(2));
}

TEST(OperandTest, RoundsToTheNearestAndTiesToEven) {
  // 1 + 2^-8 lies halfway between 1 and the next above it, 1 + 2^-7.
  const float above = std::bit_cast<float>(uint32_t{0x3F808001});
  const std::vector<float> from = {
      1, 1 + 0x1p-8F, above,  1 + 3 * 0x1p-8F, -(1 + 0x1p-8F),
      0, -0.0F,       1e-30F, 3.0e38F};
  const std::vector<float> expected = {1,  1, 1 + 0x1p-7F, 1 + 0x1p-6F,
                                       -1, 0, -0.0F};
  // Also long enough for whole vectors.
  for (int64_t repeats : {1, 5}) {
    Matrix x(1, repeats * static_cast<int64_t>(from.size()));
    for (size_t i = 0; i < x.floats().size(); ++i) {
      x.floats()[i] = from[i % from.size()];
    }
    Operand operand(Precision::kBfloat16);
    operand.Assign(x.view());
    const Matrix found = Values(operand);
    for (size_t i = 0; i < x.floats().size(); ++i) {
      const size_t which = i % from.size();
      if (which < expected.size()) {
        EXPECT_EQ(std::bit_cast<uint32_t>(found.floats()[i]),
                  std::bit_cast<uint32_t>(expected[which]))
            << from[which];
      } else {
        EXPECT_NEAR(found.floats()[i] / from[which], 1, 0x1p-8);
      }
    }
  }
}

TEST(OperandTest, NormalisesEachRowLikePlainLoops) {
  for (Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
    Operand operand(precision);
    for (int64_t width : {1, 2, 7, 16, 32, 50}) {
      Matrix x = RandomMatrix(5, width, 1);
      for (float& value : x.floats()) value = 3 * value + 5;
      const Matrix scale = RandomMatrix(1, width, 2);
      const Matrix shift = RandomMatrix(1, width, 3);
      operand.AssignLayerNorm(x.view(), scale.data(), shift.data());
      EXPECT_TRUE(
          IsNear(Values(operand).view(),
                 PlainLayerNorm(ToPlain(x.view()), ToPlain(scale.view()),
                                ToPlain(shift.view())),
                 precision == Precision::kFloat32 ? 2e-5 : 0.03))
          << width;
    }
  }
}

}  // namespace
}  // namespace telltale::model
