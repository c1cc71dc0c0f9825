#include "data/channel_summary.h"

#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "data/channel.h"

namespace telltale::data {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

Series SeriesOf(const ChannelSet& channels, std::vector<float> samples) {
  Series series;
  series.channels = channels;
  for (size_t t = 0; t < samples.size() / channels.size(); ++t) {
    series.time_ns.push_back(static_cast<int64_t>(t));
  }
  series.samples = std::move(samples);
  return series;
}

TEST(ChannelSummary, TellsRangesAndGapsOverAllSegments) {
  std::vector<Channel> list(3);
  list[0].name = "moves";
  list[1].name = "rests";
  list[2].name = "absent";
  const ChannelSet channels = *ChannelSet::Create(list);

  const auto summaries = SummariseChannels(
      std::vector{SeriesOf(channels, {-2, 7, kMissing, kMissing, 7, kMissing}),
                  SeriesOf(channels, {5, 7, kMissing})});

  ASSERT_EQ(summaries.size(), 3U);
  EXPECT_EQ(summaries[0].samples, 2);
  EXPECT_EQ(summaries[0].missing, 1);
  EXPECT_EQ(summaries[0].lowest, -2);
  EXPECT_EQ(summaries[0].highest, 5);
  EXPECT_FALSE(summaries[0].constant());
  EXPECT_TRUE(summaries[1].constant());
  EXPECT_EQ(summaries[2].samples, 0);
  EXPECT_FALSE(summaries[2].constant());
}

TEST(ChannelSummary, OfNothingIsNothing) {
  EXPECT_TRUE(SummariseChannels({}).empty());
}

}  // namespace
}  // namespace telltale::data
