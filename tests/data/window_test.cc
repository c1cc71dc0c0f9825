#include "data/window.h"

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace telltale::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

void ExpectRefused(const absl::Status& status, const std::string& why) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(why));
}

TEST(Window, HoldsInstantsRowMajorInTime) {
  const auto window = Window::Create({5, 6, 9}, {1, 2, 3, 4, 5, 6}, 2);

  ASSERT_TRUE(window.ok());
  EXPECT_EQ(window->length(), 3);
  EXPECT_EQ(window->channel_count(), 2);
  EXPECT_THAT(window->Instant(0), ElementsAre(1, 2));
  EXPECT_THAT(window->Instant(2), ElementsAre(5, 6));
  EXPECT_THAT(window->time_ns(), ElementsAre(5, 6, 9));
}

TEST(Window, RefusesCountsThatDoNotMultiplyOut) {
  ExpectRefused(Window::Create({}, {}, 2).status(), "empty");
  ExpectRefused(Window::Create({1}, {1}, 0).status(), "0 channels");
  ExpectRefused(Window::Create({1}, {1}, -3).status(), "-3 channels");
  ExpectRefused(Window::Create({1, 2}, {1, 2, 3}, 2).status(),
                "3 samples do not fit 2 instants of 2 channels");
  ExpectRefused(Window::Create({1, 2, 3}, {1, 2, 3, 4}, 2).status(),
                "4 samples do not fit 3");
}

TEST(Window, RefusesTimeThatStandsStillOrFalls) {
  ExpectRefused(Window::Create({1, 1}, {1, 2}, 1).status(),
                "does not increase at instant 1");
  ExpectRefused(Window::Create({1, 3, 2}, {1, 2, 3}, 1).status(),
                "2 ns after 3 ns");
}

TEST(Window, TakesNanForMissingAndRefusesDamage) {
  EXPECT_TRUE(Window::Create({1}, {kNan}, 1).ok());
  EXPECT_TRUE(Window::Create({1}, {-kMaxSample}, 1).ok());
  ExpectRefused(Window::Create({1, 2}, {0, 0, 0, kInfinity}, 2).status(),
                "instant 1, channel 1 is inf");
  ExpectRefused(Window::Create({1}, {-kInfinity}, 1).status(), "-inf");
  ExpectRefused(Window::Create({1}, {1.1e30F}, 1).status(), "1.1e+30");
}

}  // namespace
}  // namespace telltale::data
