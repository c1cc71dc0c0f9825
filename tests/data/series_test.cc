#include "data/series.h"

#include <cstdint>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace telltale::data {
namespace {

using testing::ElementsAre;

Series SeriesAt(std::vector<int64_t> time_ns) {
  Series series;
  Channel a;
  a.name = "a";
  Channel b;
  b.name = "b";
  series.channels = *ChannelSet::Create({a, b});
  series.time_ns = std::move(time_ns);
  for (int i = 0; i < 2 * series.length(); ++i) {
    series.samples.push_back(static_cast<float>(i));
  }
  return series;
}

TEST(Series, SlicesWindows) {
  const Series series = SeriesAt({10, 20, 30, 40});

  const auto window = series.Slice(1, 3);

  ASSERT_TRUE(window.ok());
  EXPECT_THAT(window->time_ns(), ElementsAre(20, 30));
  EXPECT_THAT(window->samples(), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(series.Instant(3), ElementsAre(6, 7));
}

TEST(Series, CadenceIsTheMedianStepAndIgnoresGaps) {
  EXPECT_EQ(SeriesAt({0, 10, 20, 30, 900, 910}).CadenceNs(), 10);
  EXPECT_EQ(SeriesAt({5}).CadenceNs(), 1'000'000'000);
  EXPECT_EQ(SeriesAt({5, 12}).CadenceNs(), 7);
}

}  // namespace
}  // namespace telltale::data
