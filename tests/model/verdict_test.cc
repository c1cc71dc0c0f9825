#include "model/scoring/verdict.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/random.h"

namespace telltale::model {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

TEST(SeverityOf, StepsAtZeroOneTwoFourAndEightDecadesBeyondTheThreshold) {
  constexpr float kThreshold = 3;
  EXPECT_EQ(SeverityOf(0, kThreshold), Severity::kNormal);
  EXPECT_EQ(SeverityOf(3, kThreshold), Severity::kNormal);
  EXPECT_EQ(SeverityOf(3.001F, kThreshold), Severity::kWatch);
  EXPECT_EQ(SeverityOf(3.999F, kThreshold), Severity::kWatch);
  EXPECT_EQ(SeverityOf(4, kThreshold), Severity::kWarning);
  EXPECT_EQ(SeverityOf(4.999F, kThreshold), Severity::kWarning);
  EXPECT_EQ(SeverityOf(5, kThreshold), Severity::kDistress);
  EXPECT_EQ(SeverityOf(6.999F, kThreshold), Severity::kDistress);
  EXPECT_EQ(SeverityOf(7, kThreshold), Severity::kCritical);
  EXPECT_EQ(SeverityOf(10.999F, kThreshold), Severity::kCritical);
  EXPECT_EQ(SeverityOf(11, kThreshold), Severity::kSevere);
  EXPECT_EQ(SeverityOf(1e30F, kThreshold), Severity::kSevere);
}

TEST(SeverityOf, NeverFallsAsTheScoreRises) {
  Severity last = Severity::kNormal;
  for (float score = 0; score < 30; score += 0.01F) {
    const Severity severity = SeverityOf(score, 2.5F);
    ASSERT_GE(severity, last);
    last = severity;
  }
}

Checkpoint JudgingCheckpoint(float threshold) {
  EncoderConfig config;
  config.input_width = 2;
  config.targets = 1;
  Checkpoint checkpoint{
      .channels = {}, .config = config, .parameters = Parameters(config, 1)};
  Random random(2);
  std::vector<float> nominal(5000);
  for (float& v : nominal) {
    v = static_cast<float>(-std::log10(1 - random.Uniform()));
  }
  checkpoint.combined = TailCurve::Fit(nominal, 0.1F);
  checkpoint.threshold.threshold = threshold;
  return checkpoint;
}

TEST(FillVerdict, JudgesByTheChannelWithTheMostEvidence) {
  const Checkpoint checkpoint = JudgingCheckpoint(2);
  const std::vector<ChannelEvidence> evidence = {{0.5F, 0}, {4, 1}, {0, -1}};
  InstantScore score;

  FillVerdict(checkpoint, evidence, score);

  EXPECT_EQ(score.state, InstantState::kScored);
  EXPECT_EQ(score.score, checkpoint.combined.Evidence(4));
  EXPECT_FLOAT_EQ(score.probability,
                  static_cast<float>(1 - std::pow(10.0, -score.score)));
  EXPECT_TRUE(score.anomaly);
  EXPECT_EQ(score.severity, SeverityOf(score.score, 2));
}

TEST(FillVerdict, AlarmsAboveTheThresholdOnly) {
  const std::vector<ChannelEvidence> evidence = {{3, 0}};
  Checkpoint checkpoint = JudgingCheckpoint(0);
  InstantScore score;
  FillVerdict(checkpoint, evidence, score);
  ASSERT_TRUE(score.anomaly);

  checkpoint.threshold.threshold = score.score;
  FillVerdict(checkpoint, evidence, score);

  EXPECT_FALSE(score.anomaly);
  EXPECT_EQ(score.severity, Severity::kNormal);
}

InstantScore Contribute(const std::vector<ChannelEvidence>& evidence,
                        bool anomaly) {
  const std::vector<int> targets = {0, 2, 3};
  const std::vector<float> samples = {10, 11, 12, kMissing};
  InstantScore score;
  score.anomaly = anomaly;
  FillContributions(
      evidence, targets, samples,
      [](int target, int horizon) {
        return static_cast<float>(100 * target + horizon);
      },
      score);
  return score;
}

TEST(FillContributions, SharesByTheSquareOfTheEvidence) {
  const InstantScore score = Contribute({{1, 0}, {3, 2}, {0, -1}}, true);

  ASSERT_EQ(score.contributions.size(), 2);
  EXPECT_EQ(score.contributions[0].channel, 2);
  EXPECT_FLOAT_EQ(score.contributions[0].share, 0.9F);
  EXPECT_EQ(score.contributions[0].observed, 12);
  EXPECT_EQ(score.contributions[0].expected, 102);
  EXPECT_EQ(score.contributions[1].channel, 0);
  EXPECT_FLOAT_EQ(score.contributions[1].share, 0.1F);
  EXPECT_EQ(score.contributions[1].observed, 10);
  EXPECT_EQ(score.contributions[1].expected, 0);
}

TEST(FillContributions, BlamesNotTheChannelThatAFaultyOnePartsFrom) {
  // As far apart, but one of them is as it was forecast.
  const InstantScore score =
      Contribute({{5, 0, 0.2F}, {4, 0, 8}, {1, 1, 4}}, true);

  ASSERT_EQ(score.contributions.size(), 3);
  EXPECT_EQ(score.contributions[0].channel, 2);
  EXPECT_FLOAT_EQ(score.contributions[0].share, 16 / (16 + 2.5F + 0.5F));
  EXPECT_EQ(score.contributions[1].channel, 0);
  EXPECT_FLOAT_EQ(score.contributions[1].share, 2.5F / (16 + 2.5F + 0.5F));
  EXPECT_EQ(score.contributions[2].channel, 3);
}

TEST(FillContributions, NamesTheLargestAloneWhenThereIsNoAlarm) {
  const InstantScore score = Contribute({{1, 0}, {0.5F, 1}, {2, 1}}, false);

  ASSERT_EQ(score.contributions.size(), 1);
  EXPECT_EQ(score.contributions[0].channel, 3);
  EXPECT_FLOAT_EQ(score.contributions[0].share, 4 / 5.25F);
}

TEST(FillContributions, SharesEvenlyWhenThereIsNoEvidenceAtAll) {
  const InstantScore score = Contribute({{0, 0}, {0, 0}, {0, 0}}, true);

  ASSERT_EQ(score.contributions.size(), 3);
  for (const Contribution& contribution : score.contributions) {
    EXPECT_FLOAT_EQ(contribution.share, 1.0F / 3);
  }
}

TEST(FillContributions, SharesAddUpToOneForEnormousEvidence) {
  const InstantScore score = Contribute({{3e38F, 0}, {3e38F, 1}, {1, 1}}, true);

  float sum = 0;
  for (const Contribution& contribution : score.contributions) {
    sum += contribution.share;
  }
  EXPECT_FLOAT_EQ(sum, 1);
}

TEST(FindSurprise, NamesTheLargestResidualOfAnyHorizon) {
  ResidualScoring scoring;
  scoring.horizons = 2;
  scoring.targets = 2;
  const std::vector<int> targets = {1, 4};

  const Surprise surprise = FindSurprise(
      scoring, targets, std::vector<float>{1, kMissing, 2, -3}, 77);
  EXPECT_EQ(surprise.time_ns, 77);
  EXPECT_EQ(surprise.deviations, 3);
  EXPECT_EQ(surprise.channel, 4);

  const Surprise none =
      FindSurprise(scoring, targets, std::vector<float>(4, kMissing), 78);
  EXPECT_EQ(none.deviations, 0);
  EXPECT_EQ(none.channel, 1);
}

}  // namespace
}  // namespace telltale::model
