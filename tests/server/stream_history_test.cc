#include "server/streaming/stream_history.h"

#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/channels.h"

namespace telltale::server {
namespace {

using ::testing::ElementsAre;

WindowRecord Record(int64_t sequence, int64_t first, int32_t added,
                    std::vector<int64_t> time_ns) {
  static const auto& label = *new std::shared_ptr<const ModelLabel>(
      std::make_shared<const ModelLabel>(ModelLabel{
          "m", "v",
          data::ChannelSet::Create({telltale::testing::MakeChannel("a")})
              .value()}));
  WindowRecord record;
  record.sequence = sequence;
  record.model = label;
  record.first_instant = first;
  record.added_instants = added;
  for (const int64_t time : time_ns) {
    record.samples.push_back(static_cast<float>(time));
  }
  record.time_ns = std::move(time_ns);
  return record;
}

StreamTail Tail(std::vector<WindowRecord> windows) {
  StreamTail tail;
  tail.instant_count =
      windows.back().first_instant + windows.back().added_instants;
  tail.windows = std::move(windows);
  return tail;
}

TEST(Replay, JoinsWindowsWithoutTheInstantsThatTheyShare) {
  const auto replay = ReplayOf(
      Tail({Record(1, 100, 3, {1, 2, 3}), Record(2, 103, 2, {2, 3, 4, 5})}),
      10);

  ASSERT_TRUE(replay.ok());
  EXPECT_EQ(replay->first_instant, 100);
  EXPECT_THAT(replay->window->time_ns(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(replay->window->samples(), ElementsAre(1, 2, 3, 4, 5));
}

TEST(Replay, TakesNoMoreInstantsThanAskedFor) {
  const auto replay = ReplayOf(
      Tail({Record(1, 100, 3, {1, 2, 3}), Record(2, 103, 2, {4, 5})}), 4);

  ASSERT_TRUE(replay.ok());
  EXPECT_EQ(replay->first_instant, 101);
  EXPECT_THAT(replay->window->time_ns(), ElementsAre(2, 3, 4, 5));
}

TEST(Replay, IsEmptyWhenNothingWasAdded) {
  const auto replay = ReplayOf(Tail({Record(1, 7, 0, {1, 2})}), 4);

  ASSERT_TRUE(replay.ok());
  EXPECT_EQ(replay->first_instant, 7);
  EXPECT_FALSE(replay->window.has_value());
}

TEST(Replay, RefusesWindowsThatDoNotFollowEachOther) {
  EXPECT_TRUE(absl::IsDataLoss(
      ReplayOf(Tail({Record(1, 0, 3, {1, 2, 3}), Record(2, 4, 1, {4})}), 9)
          .status()));
  EXPECT_TRUE(
      absl::IsDataLoss(ReplayOf(Tail({Record(1, 0, 4, {1, 2})}), 9).status()));
}

TEST(RecentInstants, ForgetsTheOldestBeyondItsCapacity) {
  RecentInstants recent(3);

  recent.Add(std::vector<int64_t>{1, 2});
  recent.Add(std::vector<int64_t>{5, 7});

  EXPECT_FALSE(recent.Contains(1));
  EXPECT_TRUE(recent.Contains(2));
  EXPECT_FALSE(recent.Contains(6));
  EXPECT_TRUE(recent.Contains(7));
}

}  // namespace
}  // namespace telltale::server
