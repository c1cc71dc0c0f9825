#include "model/positions.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace telltale::model {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(Position, CountsCadences) {
  EXPECT_EQ(Position(0, kSecond), 0);
  EXPECT_EQ(Position(5 * kSecond, kSecond), 5);
  EXPECT_EQ(Position(kSecond + kSecond / 4, kSecond), 1.25);
  EXPECT_EQ(Position(7, 2), 3.5);
}

TEST(Position, RunsThroughZeroWithoutAStep) {
  EXPECT_EQ(Position(-kSecond, kSecond), -1);
  EXPECT_EQ(Position(-kSecond / 4, kSecond), -0.25);
  EXPECT_EQ(Position(kSecond / 4, kSecond) - Position(-kSecond / 4, kSecond),
            0.5);
}

TEST(Position, KeepsNeighboursOneApartInThePresentCentury) {
  // Regular sampling must give whole differences, exactly, wherever it starts.
  for (const int64_t start : {int64_t{1'790'000'000} * kSecond,
                              int64_t{1'790'000'000} * kSecond + 1}) {
    for (const int64_t cadence : {kSecond, kSecond / 100, int64_t{1'000'003}}) {
      for (int64_t i = 0; i < 300; ++i) {
        const double difference =
            Position(start + i * cadence, cadence) - Position(start, cadence);
        ASSERT_EQ(difference, static_cast<double>(i)) << cadence;
      }
    }
  }
}

TEST(Position, TakesEveryTimeStamp) {
  EXPECT_GT(Position(std::numeric_limits<int64_t>::max(), 1), 9.2e18);
  EXPECT_LT(Position(std::numeric_limits<int64_t>::min(), 1), -9.2e18);
}

}  // namespace
}  // namespace telltale::model
