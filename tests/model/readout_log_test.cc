#include "model/scoring/readout_log.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace telltale::model {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kReach = 4;

TEST(ReadoutLog, TheFirstAlarmsReadOutIsItsOwn) {
  ReadoutLog log(kReach);

  const Readout sum = log.Accumulate(1000, {900, {1, 2, 3, 4}});

  EXPECT_EQ(sum.first, 900);
  EXPECT_THAT(sum.values, ElementsAre(1, 2, 3, 4));
}

TEST(ReadoutLog, AddsEarlierAlarmsKeyByKeyHoweverTheyLie) {
  ReadoutLog log(kReach);
  log.Accumulate(1000, {902, {10, 20, 30, 40}});
  log.Accumulate(1004, {898, {100, 200, 300}});

  const Readout sum = log.Accumulate(1006, {900, {1, 2, 3, 4}});

  EXPECT_EQ(sum.first, 898);
  EXPECT_THAT(sum.values, ElementsAre(100, 200, 301, 2, 13, 24, 30, 40));
}

TEST(ReadoutLog, SumsAreOfReadOutsNotOfSums) {
  ReadoutLog log(kReach);
  for (int64_t t = 1000; t <= 1008; t += 4) log.Accumulate(t, {900, {1}});

  EXPECT_THAT(log.Accumulate(1012, {900, {1}}).values, ElementsAre(4));
}

TEST(ReadoutLog, KeepsEveryFourthInstantByItsIndex) {
  ReadoutLog log(kReach);
  for (int64_t t = 1000; t <= 1008; ++t) log.Accumulate(t, {900, {1}});

  // Those at 1000, 1004 and 1008, and its own.
  EXPECT_THAT(log.Accumulate(1009, {900, {1}}).values, ElementsAre(4));
}

TEST(ReadoutLog, ForgetsAlarmsOfLongAgo) {
  ReadoutLog log(kReach);
  log.Accumulate(1000, {900, {8}});

  EXPECT_THAT(log.Accumulate(1032, {900, {1}}).values, ElementsAre(9));

  ReadoutLog other(kReach);
  other.Accumulate(1000, {900, {8}});
  EXPECT_THAT(other.Accumulate(1033, {900, {1}}).values, ElementsAre(1));
}

TEST(ReadoutLog, GoesOnFromItsBytes) {
  ReadoutLog log(kReach);
  log.Accumulate(1000, {900, {1, 2, 3, 4}});
  log.Accumulate(1004, {899, {5, 6}});
  std::string bytes;
  log.Save(bytes);

  ReadoutLog restored(kReach);
  std::string_view left = bytes;
  ASSERT_TRUE(restored.Restore(left));
  EXPECT_TRUE(left.empty());
  const Readout expected = log.Accumulate(1007, {901, {1}});
  const Readout found = restored.Accumulate(1007, {901, {1}});
  EXPECT_EQ(found.first, expected.first);
  EXPECT_EQ(found.values, expected.values);

  ReadoutLog cut(kReach);
  left = std::string_view(bytes).substr(0, bytes.size() - 1);
  EXPECT_FALSE(cut.Restore(left));
}

}  // namespace
}  // namespace telltale::model
