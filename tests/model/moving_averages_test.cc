#include "model/scoring/moving_averages.h"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "model/random.h"

namespace telltale::model {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

float Push(MovingAverages& averages, float value) {
  float magnitude = 0;
  averages.Push({&value, 1}, {&magnitude, 1});
  return magnitude;
}

TEST(MovingAverages, FadeByAFifthAnInstant) {
  MovingAverages averages(1);
  float last = Push(averages, -8);
  EXPECT_NEAR(last, 8 * 0.2F, 0.05F);
  for (int t = 1; t < MovingAverages::kTaps; ++t) {
    const float average = Push(averages, 0);
    EXPECT_NEAR(average / last, 0.8F, 1e-5F) << t;
    last = average;
  }
  EXPECT_EQ(Push(averages, 0), 0);
}

TEST(MovingAverages, AreWhatLasts) {
  MovingAverages averages(1);
  float average = 0;
  for (int t = 0; t < MovingAverages::kTaps; ++t) average = Push(averages, -3);

  EXPECT_NEAR(average, 3, 1e-5F);
}

TEST(MovingAverages, CountAMissingValueAsZeroAndHaveNoneThen) {
  MovingAverages holed(1);
  MovingAverages zero(1);
  Push(holed, 1);
  Push(zero, 1);

  EXPECT_TRUE(std::isnan(Push(holed, kMissing)));
  Push(zero, 0);

  EXPECT_EQ(Push(holed, 2), Push(zero, 2));
}

TEST(MovingAverages, GoOnFromSavedBytes) {
  Random random(5);
  const auto draw = [&] { return static_cast<float>(random.Normal()); };
  MovingAverages averages(1);
  for (int t = 0; t < 33; ++t) Push(averages, draw());
  std::string bytes;
  averages.Save(bytes);
  bytes += "rest";

  MovingAverages restored(1);
  std::string_view view = bytes;
  ASSERT_TRUE(restored.Restore(view));
  EXPECT_EQ(view, "rest");
  for (int t = 0; t < 33; ++t) {
    const float value = draw();
    ASSERT_EQ(Push(restored, value), Push(averages, value));
  }
  std::string_view cut = std::string_view(bytes).substr(0, 40);
  EXPECT_FALSE(restored.Restore(cut));
}

}  // namespace
}  // namespace telltale::model
