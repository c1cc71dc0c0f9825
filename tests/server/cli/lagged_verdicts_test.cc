#include "server/cli/lagged_verdicts.h"

#include <cmath>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/random.h"

namespace telltale::server {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kLag = 4;
constexpr int64_t kSecond = 1'000'000'000;

// Of one channel, whose residual's mean is all that counts.
std::unique_ptr<const model::Checkpoint> MakeCheckpoint() {
  model::EncoderConfig config;
  config.input_width = 2;
  config.targets = 1;
  config.horizons = {1};
  auto checkpoint = std::make_unique<model::Checkpoint>(
      model::Checkpoint{.channels = {},
                        .config = config,
                        .parameters = model::Parameters(config, 1)});
  std::vector<float> nominal(5'000);
  model::Random random(1);
  for (float& x : nominal) {
    x = static_cast<float>(-std::log10(1 - random.Uniform()));
  }
  model::Scoring& scoring = checkpoint->scoring;
  scoring.residuals.horizons = 1;
  scoring.residuals.targets = 1;
  scoring.novelty.weight = {0};
  scoring.lagged_curves.assign(model::kSlowViews, model::TailCurve());
  scoring.lagged_curves[0] = model::TailCurve::Fit(nominal, 0.1F);
  checkpoint->lagged_combined = scoring.lagged_curves[0];
  checkpoint->lagged_threshold.threshold = 0.6F;
  return checkpoint;
}

// `magnitude`: of the residual.
model::InstantScore Scored(int t, float magnitude) {
  model::InstantScore verdict;
  verdict.time_ns = t * kSecond;
  verdict.state = model::InstantState::kScored;
  verdict.views = {0, magnitude, 0, 0, 0};
  return verdict;
}

void SetMagnitude(model::InstantScore& verdict, float magnitude) {
  verdict.views[1] = magnitude;
}

std::vector<model::InstantScore> All(
    const std::vector<model::InstantScore>& causal) {
  LaggedVerdicts lagged(MakeCheckpoint(), kLag);
  std::vector<model::InstantScore> verdicts;
  for (const model::InstantScore& score : causal) {
    if (auto verdict = lagged.Push(score)) verdicts.push_back(*verdict);
  }
  while (auto verdict = lagged.Drain()) verdicts.push_back(*verdict);
  return verdicts;
}

std::vector<model::InstantScore> Quiet(int count) {
  std::vector<model::InstantScore> scores;
  scores.reserve(count);
  for (int t = 0; t < count; ++t) scores.push_back(Scored(t, 0.4F));
  return scores;
}

TEST(LaggedVerdicts, AnswerEveryInstantOnceAndInOrder) {
  for (const int count : {1, kLag, 100}) {
    const auto verdicts = All(Quiet(count));

    ASSERT_THAT(verdicts, SizeIs(count));
    for (int t = 0; t < count; ++t) EXPECT_EQ(verdicts[t].time_ns, t * kSecond);
  }
}

TEST(LaggedVerdicts, LeaveInstantsWithoutAScoreWithoutOne) {
  auto causal = Quiet(40);
  causal[20].state = model::InstantState::kIncomplete;
  causal[20].score = 0;

  const auto verdicts = All(causal);

  EXPECT_EQ(verdicts[20].state, model::InstantState::kIncomplete);
  EXPECT_EQ(verdicts[20].score, 0);
  EXPECT_NEAR(verdicts[19].score, verdicts[10].score, 0.2);
}

TEST(LaggedVerdicts, RaiseTheAlarmBeforeTheCausalScoreDoes) {
  auto causal = Quiet(500);
  for (int t = 30; t < 40; ++t) SetMagnitude(causal[t], 40);

  const auto verdicts = All(causal);

  EXPECT_FALSE(verdicts[25].anomaly);
  EXPECT_TRUE(verdicts[29].anomaly);
  EXPECT_TRUE(verdicts[35].anomaly);
  EXPECT_FALSE(verdicts[499].anomaly);
}

TEST(LaggedVerdicts, KeepTheAlarmsOfTheVerdictAsTheyAre) {
  auto causal = Quiet(60);
  for (auto& score : causal) score.verdict = 0.2F;
  causal[30].verdict = 0.9F;
  causal[30].points_back_to = {{.time_ns = 5 * kSecond, .lag = 25}};
  LaggedVerdicts lagged(MakeCheckpoint(), kLag, /*verdict_threshold=*/0.8F);
  std::vector<model::InstantScore> verdicts;
  for (const model::InstantScore& score : causal) {
    if (auto verdict = lagged.Push(score)) verdicts.push_back(*verdict);
  }

  EXPECT_FALSE(verdicts[29].anomaly);
  EXPECT_TRUE(verdicts[30].anomaly);
  EXPECT_THAT(verdicts[30].points_back_to, SizeIs(1));
  EXPECT_FALSE(verdicts[31].anomaly);
}

TEST(LaggedVerdicts, TakeTheMaskingCheckWithTheInstantsItIsOf) {
  auto causal = Quiet(500);
  for (int t = 30; t < 40; ++t) SetMagnitude(causal[t], 40);
  causal[30].points_back_to = {{.time_ns = 5 * kSecond, .lag = 25}};
  causal[30].masking = model::MaskingCheck{1, 2, 0.5F};
  causal[490].masking = model::MaskingCheck{1, 3, 0.5F};

  const auto verdicts = All(causal);

  ASSERT_TRUE(verdicts[29].anomaly);
  ASSERT_TRUE(verdicts[29].masking.has_value());
  EXPECT_EQ(verdicts[29].masking->pointed, 2);
  ASSERT_FALSE(verdicts[490].anomaly);
  EXPECT_FALSE(verdicts[490].masking.has_value());
}

TEST(LaggedVerdicts, BorrowEarlierInstantsFromTheNearestAlarm) {
  auto causal = Quiet(60);
  for (int t = 30; t < 40; ++t) SetMagnitude(causal[t], 40);
  causal[30].points_back_to = {
      {.time_ns = 10 * kSecond, .lag = 20, .lag_seconds = 20, .weight = 0.5F},
      {.time_ns = 29 * kSecond, .lag = 1, .lag_seconds = 1, .weight = 0.1F}};

  const auto verdicts = All(causal);

  // Only what lies before the instant itself.
  ASSERT_THAT(verdicts[29].points_back_to, SizeIs(1));
  EXPECT_EQ(verdicts[29].points_back_to[0].time_ns, 10 * kSecond);
  EXPECT_EQ(verdicts[29].points_back_to[0].lag, 19);
  EXPECT_EQ(verdicts[29].points_back_to[0].lag_seconds, 19);
  ASSERT_THAT(verdicts[32].points_back_to, SizeIs(2));
  EXPECT_EQ(verdicts[32].points_back_to[0].lag, 22);
  EXPECT_THAT(verdicts[38].points_back_to, IsEmpty());  // beyond the lag
}

TEST(LaggedVerdicts, PointNowhereWhereTheLaggedScoreIsNoAlarm) {
  auto causal = Quiet(60);
  SetMagnitude(causal[30], 1);
  causal[30].anomaly = true;
  causal[30].points_back_to = {{.time_ns = 10 * kSecond, .lag = 20}};

  const auto verdicts = All(causal);

  EXPECT_FALSE(verdicts[30].anomaly);
  EXPECT_THAT(verdicts[30].points_back_to, IsEmpty());
}

}  // namespace
}  // namespace telltale::server
