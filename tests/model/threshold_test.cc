#include "model/scoring/threshold.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "model/random.h"

namespace telltale::model {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

std::vector<float> Quiet(size_t length) {
  return std::vector<float>(length, 0.0F);
}

TEST(CountEvents, TakesAlarmsCloserThanTwentyInstantsForOne) {
  std::vector<float> scores = Quiet(200);
  scores[50] = 9;
  scores[69] = 9;  // 19 later: the same event

  EXPECT_EQ(CountEvents(scores, 1), 1);
  scores[69] = 0;
  scores[70] = 9;  // 20 later: another
  EXPECT_EQ(CountEvents(scores, 1), 2);
}

TEST(CountEvents, LetsAnEventGoOnAsLongAsAlarmsFollowEachOther) {
  std::vector<float> scores = Quiet(200);
  for (size_t t = 0; t < scores.size(); t += 19) scores[t] = 9;

  EXPECT_EQ(CountEvents(scores, 1), 1);
}

TEST(CountEvents, CountsAnAlarmAtEitherEnd) {
  std::vector<float> scores = Quiet(100);
  scores.front() = 9;
  scores.back() = 9;

  EXPECT_EQ(CountEvents(scores, 1), 2);
}

TEST(CountEvents, AlarmsAboveTheThresholdOnly) {
  const std::vector<float> scores = {1, 1, 1};

  EXPECT_EQ(CountEvents(scores, 1), 0);
  EXPECT_EQ(CountEvents(scores, 0.99F), 1);
  EXPECT_EQ(CountEvents({}, 0), 0);
}

TEST(CountEvents, HoldsAMissingScoreForNoAlarm) {
  std::vector<float> scores(60, kMissing);

  EXPECT_EQ(CountEvents(scores, -1), 0);
  scores[30] = 9;
  EXPECT_EQ(CountEvents(scores, 1), 1);
}

// How many events the budget allows in so many scores: the n that comes to the
// budget with one and a half standard deviations, of sqrt(n) each, on top.
double Allowed(size_t scores, double budget_per_10k) {
  const double mean = budget_per_10k * static_cast<double>(scores) / 10'000;
  double low = 0;
  double high = mean;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (middle + 1.5 * std::sqrt(middle) < mean ? low : high) = middle;
  }
  return low;
}

// Each score in turn as the threshold, from the highest down, counting anew.
float SlowThreshold(const std::vector<float>& scores, double allowed) {
  std::set<float> values;
  for (const float score : scores) {
    if (!std::isnan(score)) values.insert(score);
  }
  float last = *values.rbegin();
  for (auto value = values.rbegin(); value != values.rend(); ++value) {
    if (static_cast<double>(CountEvents(scores, *value)) > allowed) return last;
    last = *value;
  }
  return last;
}

TEST(ThresholdForBudget, AgreesWithTryingEveryScore) {
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    const auto length = static_cast<size_t>(300 + random.Below(600));
    std::vector<float> scores(length);
    for (float& score : scores) {
      score = static_cast<float>(-std::log10(1 - random.Uniform()));
      if (random.Uniform() < 0.02) score = kMissing;
      // Ties in every third round.
      if (round % 3 == 0) score = std::floor(score * 4) / 4;
    }
    const double budget = 150 + 100 * random.Uniform();
    size_t valid = 0;
    for (const float score : scores) valid += std::isnan(score) ? 0U : 1U;
    const double allowed = Allowed(valid, budget);
    ASSERT_GE(allowed, 1);

    const float threshold = ThresholdForBudget(scores, budget);

    EXPECT_EQ(threshold, SlowThreshold(scores, allowed)) << "round " << round;
    EXPECT_LE(static_cast<double>(CountEvents(scores, threshold)), allowed);
  }
}

TEST(ThresholdForBudget, KeepsItsBudgetOnTelemetryThatItHasNotSeen) {
  Random random(6);
  const auto draw = [&] {
    std::vector<float> scores(40'000);
    for (float& score : scores) {
      score = static_cast<float>(-std::log10(1 - random.Uniform()));
    }
    return scores;
  };
  constexpr double kBudget = 5;
  int kept = 0;
  for (int round = 0; round < 40; ++round) {
    const float threshold = ThresholdForBudget(draw(), kBudget);
    const int64_t events = CountEvents(draw(), threshold);
    kept += static_cast<double>(events) <= kBudget * 4 ? 1 : 0;
  }

  // With the margin, much more often than every other time.
  EXPECT_GE(kept, 28);
}

TEST(ThresholdForBudget, LiesAboveEveryScoreWhenLessThanOneEventIsAllowed) {
  std::vector<float> scores = Quiet(1000);
  scores[500] = 3;

  // Half an event is wanted, which is a third of a decade above the one seen.
  EXPECT_NEAR(ThresholdForBudget(scores, 5), 3 - std::log10(0.5), 1e-4);
  // A smaller budget, a higher threshold.
  EXPECT_GT(ThresholdForBudget(scores, 0.5), ThresholdForBudget(scores, 5));
}

TEST(ThresholdForBudget, IsTheLeastScoreWhenTheBudgetHoldsThemAll) {
  const std::vector<float> scores = {4, 2, 3, 5};

  EXPECT_EQ(ThresholdForBudget(scores, 1e6), 2);
}

TEST(ThresholdForBudget, SurvivesScoresThatAreAllMissing) {
  const std::vector<float> scores(10, kMissing);

  EXPECT_EQ(ThresholdForBudget(scores, 5), 0);
  EXPECT_EQ(ThresholdForBudget({}, 5), 0);
}

TEST(PoissonInterval, AgreesWithTheTables) {
  EXPECT_EQ(PoissonInterval(0).low, 0);
  EXPECT_NEAR(PoissonInterval(0).high, 3.689, 1e-3);
  EXPECT_NEAR(PoissonInterval(1).low, 0.0253, 1e-4);
  EXPECT_NEAR(PoissonInterval(1).high, 5.572, 1e-3);
  EXPECT_NEAR(PoissonInterval(10).low, 4.795, 1e-3);
  EXPECT_NEAR(PoissonInterval(10).high, 18.391, 1e-3);
  EXPECT_NEAR(PoissonInterval(100).low, 81.36, 1e-2);
  EXPECT_NEAR(PoissonInterval(100).high, 121.63, 1e-2);
}

TEST(PoissonInterval, HoldsTheCountAndGrowsWithIt) {
  CountInterval last;
  for (const int64_t count : {0, 1, 5, 50, 500, 5000}) {
    const CountInterval interval = PoissonInterval(count);
    EXPECT_LE(interval.low, static_cast<double>(count));
    EXPECT_GT(interval.high, static_cast<double>(count));
    EXPECT_GE(interval.low, last.low);
    EXPECT_GT(interval.high, last.high);
    last = interval;
  }
}

}  // namespace
}  // namespace telltale::model
