#include "model/scoring/smoothed_scores.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/random.h"
#include "model/scoring/threshold.h"

namespace telltale::model {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

// Scores of nominal operation: -log10 of a uniform probability, in runs of
// three so that neighbours resemble each other.
std::vector<float> NominalScores(uint64_t seed, int count) {
  Random random(seed);
  std::vector<float> scores;
  float score = 0;
  for (int i = 0; i < count; ++i) {
    if (i % 3 == 0) {
      score = static_cast<float>(-std::log10(1 - random.Uniform()));
    }
    scores.push_back(score);
  }
  return scores;
}

// The definition, without streaming.
float PlainMean(const std::vector<float>& scores, int center, int lag) {
  double sum = 0;
  double total = 0;
  for (int i = 0; i < static_cast<int>(scores.size()); ++i) {
    if (i < center - 4 * lag || i > center + lag || std::isnan(scores[i])) {
      continue;
    }
    const double weight = std::exp(-2.0 * std::abs(i - center) / lag);
    sum += weight * scores[i];
    total += weight;
  }
  return static_cast<float>(sum / total);
}

TEST(ScoreSmoother, LeavesScoresAsTheyAreWithoutLag) {
  EXPECT_THAT(SmoothScores(std::vector<float>{1, 5, 2}, 0),
              ElementsAre(1, 5, 2));
}

TEST(ScoreSmoother, LeavesAConstantAsItIsUpToTheEdges) {
  const std::vector<float> smoothed =
      SmoothScores(std::vector<float>(50, 1.5F), 8);

  EXPECT_THAT(smoothed, SizeIs(50));
  EXPECT_THAT(smoothed, Each(FloatEq(1.5F)));
}

TEST(ScoreSmoother, EqualsTheMeanOverItsNeighbours) {
  std::vector<float> scores = NominalScores(1, 120);
  for (int gap : {0, 17, 18, 19, 60}) scores[gap] = kNone;

  const std::vector<float> smoothed = SmoothScores(scores, 5);

  ASSERT_THAT(smoothed, SizeIs(120));
  for (int i = 0; i < 120; ++i) {
    if (std::isnan(scores[i])) {
      EXPECT_TRUE(std::isnan(smoothed[i])) << i;
    } else {
      EXPECT_NEAR(smoothed[i], PlainMean(scores, i, 5), 1e-5) << i;
    }
  }
}

TEST(ScoreSmoother, LooksExactlyItsLagAhead) {
  std::vector<float> quiet(100, 0.5F);
  std::vector<float> loud = quiet;
  loud[60] = 9;

  const std::vector<float> before = SmoothScores(quiet, 10);
  const std::vector<float> after = SmoothScores(loud, 10);

  for (int i = 0; i < 50; ++i) EXPECT_EQ(before[i], after[i]) << i;
  EXPECT_GT(after[50], before[50]);
  EXPECT_GT(after[99], before[99]);  // 40 back
}

TEST(ScoreSmoother, HandsOutScoresLagInstantsLate) {
  ScoreSmoother smoother(2);

  EXPECT_EQ(smoother.Push(1), std::nullopt);
  EXPECT_EQ(smoother.Push(1), std::nullopt);
  EXPECT_EQ(smoother.Push(1), 1);
}

TEST(ScoreSmoother, HandlesSeriesShorterThanItsLag) {
  EXPECT_THAT(SmoothScores(std::vector<float>{2}, 100), ElementsAre(2));
  EXPECT_THAT(SmoothScores(std::vector<float>{}, 100), SizeIs(0));
}

TEST(SmoothedScoring, KeepsTheBudgetOnUnseenNominalScores) {
  constexpr double kBudget = 20;
  const auto scoring =
      SmoothedScoring::Calibrate(NominalScores(2, 20'000), kBudget, 10);
  ASSERT_TRUE(scoring.ok());

  std::vector<float> unseen = SmoothScores(NominalScores(3, 20'000), 10);
  for (float& x : unseen) x = scoring->tail.Evidence(x);

  const int64_t events = CountEvents(unseen, scoring->threshold);
  EXPECT_LE(events, 2 * kBudget);
  EXPECT_GE(events, kBudget / 2);
}

TEST(SmoothedScoring, FindsALongFaintAnomalyThatSingleScoresMiss) {
  std::vector<float> flight = NominalScores(4, 2'000);
  for (int i = 1'000; i < 1'040; ++i) flight[i] += 1;
  const auto scoring =
      SmoothedScoring::Calibrate(NominalScores(2, 20'000), 5, 10);
  ASSERT_TRUE(scoring.ok());
  const float plain_threshold = ThresholdForBudget(NominalScores(2, 20'000), 5);

  const float smoothed =
      scoring->tail.Evidence(SmoothScores(flight, 10)[1'020]);

  EXPECT_LT(flight[1'020], plain_threshold);
  EXPECT_GT(smoothed, scoring->threshold);
}

TEST(SmoothedScoring, RefusesALagThatTheNominalScoresCannotCalibrate) {
  const auto scoring = SmoothedScoring::Calibrate(NominalScores(1, 199), 5, 10);

  EXPECT_EQ(scoring.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(scoring.status().message()),
              HasSubstr("needs 200 nominal scores"));
  EXPECT_TRUE(SmoothedScoring::Calibrate(NominalScores(1, 200), 5, 10).ok());
}

}  // namespace
}  // namespace telltale::model
