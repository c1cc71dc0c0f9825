#include "model/scoring/masking_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/scoring/attribution.h"

namespace telltale::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kAlarmed = 1000;
constexpr Reachable kReachable = {742, 990};
constexpr int kTaps = 5;

TEST(PlanMasking, HidesTheKeysWhoseTapsCoverTheStrongestThree) {
  const auto plan = PlanMasking(std::vector<int64_t>{900, 850, 970, 800},
                                kReachable, kAlarmed, kTaps);

  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->instants, 3);
  ASSERT_THAT(plan->hidden, SizeIs(2 + 3 + kMaskingDraws));
  EXPECT_THAT(plan->hidden[0], IsEmpty());
  EXPECT_THAT(plan->hidden[1],
              ElementsAre(900, 901, 902, 903, 904, 850, 851, 852, 853, 854, 970,
                          971, 972, 973, 974));
  EXPECT_THAT(plan->hidden[2], ElementsAre(900, 901, 902, 903, 904));
  EXPECT_THAT(plan->hidden[4], ElementsAre(970, 971, 972, 973, 974));
}

// The instants whose keys a set of a plan hides.
std::vector<int64_t> InstantsOf(const std::vector<int64_t>& keys) {
  std::vector<int64_t> instants;
  for (size_t i = 0; i < keys.size(); i += kTaps) {
    EXPECT_EQ(keys[i + kTaps - 1], keys[i] + kTaps - 1);
    instants.push_back(keys[i]);
  }
  return instants;
}

int64_t CountNear(const std::vector<int64_t>& instants, int64_t instant) {
  return std::ranges::count_if(instants, [instant](int64_t other) {
    return std::abs(other - instant) < kPeakDistance;
  });
}

TEST(PlanMasking, DrawsAsManyFromTheSameReachAwayFromPointedAndRecentOnes) {
  const std::vector<int64_t> pointed = {900, 850, 970};
  std::set<int64_t> all;
  for (int64_t alarmed = kAlarmed; alarmed < kAlarmed + 200; ++alarmed) {
    const auto plan = PlanMasking(pointed, {742, 1200}, alarmed, kTaps);
    ASSERT_TRUE(plan.has_value());
    for (size_t set = 5; set < plan->hidden.size(); ++set) {
      const std::vector<int64_t> drawn = InstantsOf(plan->hidden[set]);
      ASSERT_THAT(drawn, SizeIs(3));
      for (const int64_t instant : drawn) {
        EXPECT_TRUE(742 <= instant && instant < alarmed - kMaskingRecent);
        EXPECT_EQ(CountNear(pointed, instant), 0);
        EXPECT_EQ(CountNear(drawn, instant), 1);  // itself
      }
      all.insert(drawn.begin(), drawn.end());
    }
  }
  // They come from all of it: no place is missed in 4,800 draws.
  EXPECT_GE(all.size(), 1000U - 742 - 8 - 3 * 11);
}

TEST(PlanMasking, DependsOnItsArgumentsAlone) {
  const std::vector<int64_t> pointed = {900, 850, 970};
  const auto plan = PlanMasking(pointed, kReachable, kAlarmed, kTaps);
  EXPECT_EQ(PlanMasking(pointed, kReachable, kAlarmed, kTaps)->hidden,
            plan->hidden);
  EXPECT_NE(PlanMasking(pointed, kReachable, kAlarmed + 1, kTaps)->hidden,
            plan->hidden);
}

TEST(PlanMasking, ComparesFewerWithAsFew) {
  const auto plan =
      PlanMasking(std::vector<int64_t>{900}, kReachable, kAlarmed, kTaps);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->instants, 1);
  ASSERT_THAT(plan->hidden, SizeIs(2 + 1 + kMaskingDraws));
  EXPECT_THAT(plan->hidden.back(), SizeIs(kTaps));
}

TEST(PlanMasking, IsNoneWithoutEnoughToPointToOrToDrawFrom) {
  EXPECT_FALSE(PlanMasking({}, kReachable, kAlarmed, kTaps).has_value());
  EXPECT_FALSE(PlanMasking(std::vector<int64_t>{985, 978, 971}, {960, 990},
                           kAlarmed, kTaps)
                   .has_value());
}

TEST(FillMasking, TellsTheChangesInDeviationsWhateverTheirSigns) {
  MaskingPlan plan;
  plan.instants = 2;
  plan.hidden.resize(2 + 2 + kMaskingDraws);
  //                               none  all   one   other
  std::vector<float> forecasts = {10.0F, 4.0F, 12.0F, 9.0F};
  for (int draw = 0; draw < kMaskingDraws; ++draw) {
    forecasts.push_back(draw % 2 == 0 ? 11.0F : 8.0F);
  }
  InstantScore score;
  score.points_back_to.resize(3);

  FillMasking(plan, forecasts, 2, score);

  ASSERT_TRUE(score.masking.has_value());
  EXPECT_EQ(score.masking->instants, 2);
  EXPECT_EQ(score.masking->pointed, 3);
  EXPECT_EQ(score.masking->random, 0.75F);
  EXPECT_EQ(score.points_back_to[0].masking_change, 1);
  EXPECT_EQ(score.points_back_to[1].masking_change, 0.5F);
  EXPECT_TRUE(std::isnan(score.points_back_to[2].masking_change));
}

}  // namespace
}  // namespace telltale::model
