#include "model/layers/rotary.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"
#include "tests/support/plain_encoder.h"

namespace telltale::model {
namespace {

Matrix Turned(const EncoderConfig& config, const Matrix& x,
              const std::vector<double>& positions, float direction = 1) {
  Matrix y = x;
  RotaryAngles angles;
  ComputeAngles(RotaryFrequencies(config), positions, angles);
  Rotate(config, angles, direction, y.view());
  return y;
}

TEST(RotaryTest, EqualsPlainLoops) {
  const EncoderConfig config = SmallConfig();
  const Matrix x = RandomMatrix(50, config.query_columns(), 1);
  for (bool irregular : {false, true}) {
    const std::vector<double> positions = Positions(50, irregular, 1000);
    PlainMatrix expected = ToPlain(x.view());
    PlainRotate(config, positions, expected);
    EXPECT_TRUE(IsNear(Turned(config, x, positions).view(), expected, 2e-6));
  }
}

TEST(RotaryTest, TurnsAFirstPairByItsPositionInRadians) {
  EncoderConfig config = SmallConfig();
  config.heads = 1;
  config.query_width = 4;
  Matrix x(1, 4);
  x.floats() = {1, 0, 0, 0};
  const Matrix y = Turned(config, x, {0.5});
  EXPECT_FLOAT_EQ(y.data()[0], 0.87758256F);  // cos 0.5
  EXPECT_FLOAT_EQ(y.data()[2], 0.47942554F);  // sin 0.5
  EXPECT_EQ(y.data()[1], 0);
  EXPECT_EQ(y.data()[3], 0);
}

TEST(RotaryTest, TurnsBack) {
  const EncoderConfig config = SmallConfig();
  const Matrix x = RandomMatrix(40, config.query_columns(), 1);
  const std::vector<double> positions = Positions(40, true, 12345);
  const Matrix back =
      Turned(config, Turned(config, x, positions), positions, -1);
  EXPECT_TRUE(IsNear(back, x, 1e-6));
}

// The product of two vectors turned at these positions.
double TurnedProduct(const EncoderConfig& config, const Matrix& x,
                     double first_position, double second_position) {
  const PlainMatrix turned =
      ToPlain(Turned(config, x, {first_position, second_position}).view());
  double product = 0;
  for (int64_t i = 0; i < turned.columns; ++i) {
    product += turned.At(0, i) * turned.At(1, i);
  }
  return product;
}

TEST(RotaryTest, ProductsDependOnDistanceAloneFarFromZeroToo) {
  const EncoderConfig config = SmallConfig();
  const Matrix x = RandomMatrix(2, config.query_columns(), 1);
  for (double distance : {0.0, 1.0, 2.5, 255.0}) {
    const double near = TurnedProduct(config, x, distance, 0);
    for (double offset : {1.0, 777.0, 1e6, 1e9}) {
      EXPECT_NEAR(TurnedProduct(config, x, offset + distance, offset), near,
                  2e-5)
          << "distance " << distance << " at " << offset;
    }
  }
  EXPECT_GT(
      std::abs(TurnedProduct(config, x, 3, 0) - TurnedProduct(config, x, 0, 0)),
      0.1);
}

}  // namespace
}  // namespace telltale::model
