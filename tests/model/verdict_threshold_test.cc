#include "model/scoring/verdict_threshold.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace telltale::model {
namespace {

constexpr double kNoBudget = 10'000;

TEST(VerdictThreshold, LiesInTheMiddleBetweenFaultsAndTheRest) {
  const std::vector<LabelledVerdict> verdicts = {
      {-3, false}, {-2, false}, {4, true}, {6, true}, {-5, false}};

  EXPECT_EQ(VerdictThreshold(verdicts, kNoBudget), 1);
}

TEST(VerdictThreshold, IsWhereF1IsHighestWhenTheyOverlap) {
  // Above 2.5: three of four faults, one other: F1 = 6/8. Above 0.5: all four,
  // and three others: 8/11.
  const std::vector<LabelledVerdict> verdicts = {
      {5, true},  {4, false}, {3, true},  {2.75F, true}, {2.25F, false},
      {2, false}, {1, true},  {0, false}, {-1, false}};

  EXPECT_EQ(VerdictThreshold(verdicts, kNoBudget), 2.5F);
}

TEST(VerdictThreshold, NeverLiesBetweenEqualLogits) {
  const std::vector<LabelledVerdict> verdicts = {
      {2, true}, {1, true}, {1, false}, {0, false}};

  const float threshold = VerdictThreshold(verdicts, kNoBudget);
  EXPECT_TRUE(threshold == 0.5F || threshold == 1.5F) << threshold;
}

TEST(VerdictThreshold, IsAProbabilityOfOneHalfWithoutFaultsOrWithoutTheRest) {
  EXPECT_EQ(VerdictThreshold({}, 5), 0);
  EXPECT_EQ(
      VerdictThreshold(std::vector<LabelledVerdict>{{7, false}, {8, false}}, 5),
      0);
  EXPECT_EQ(
      VerdictThreshold(std::vector<LabelledVerdict>{{7, true}, {8, true}}, 5),
      0);
  EXPECT_EQ(VerdictProbability(0), 0.5F);
  EXPECT_NEAR(VerdictProbability(2), 0.880797F, 1e-6);
  EXPECT_EQ(VerdictProbability(-200), 0);
  EXPECT_EQ(VerdictProbability(200), 1);
}

// 20,000 nominal instants, of which each hundredth has a logit of 3; then 2,000
// faults, a quarter with one of 10, and the rest one of 1.
std::vector<LabelledVerdict> ManyAlarms() {
  std::vector<LabelledVerdict> verdicts;
  verdicts.reserve(22'000);
  for (int i = 0; i < 20'000; ++i) {
    verdicts.push_back({i % 100 == 0 ? 3.0F : -4.0F, false});
  }
  for (int i = 0; i < 2'000; ++i) {
    verdicts.push_back({i % 4 == 0 ? 10.0F : 1.0F, true});
  }
  return verdicts;
}

TEST(VerdictThreshold, IsRaisedToKeepWithinTheBudget) {
  const auto verdicts = ManyAlarms();

  EXPECT_LT(VerdictThreshold(verdicts, 1'000), 1);
  EXPECT_EQ(VerdictThreshold(verdicts, 5), 3);
}

TEST(VerdictThreshold, ChargesNoAlarmThatAdjoinsAFaultToTheBudget) {
  std::vector<LabelledVerdict> verdicts;
  for (int i = 0; i < 20'000; ++i) {
    const int phase = i % 100;
    const bool around = 60 <= phase && phase < 90;  // the fault: 70 to 80
    verdicts.push_back({around ? 3.0F : -4.0F, 70 <= phase && phase < 80});
  }

  EXPECT_EQ(VerdictThreshold(verdicts, 5), -0.5F);
}

TEST(VerdictThreshold, TakesNoGapForAnInstant) {
  std::vector<LabelledVerdict> verdicts = {{-3, false}, {4, true}};
  verdicts.push_back({std::numeric_limits<float>::quiet_NaN(), false});
  verdicts.push_back({-2, false});

  EXPECT_EQ(VerdictThreshold(verdicts, kNoBudget), 1);
}

}  // namespace
}  // namespace telltale::model
