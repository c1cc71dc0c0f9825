#include "model/scoring/calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/random.h"
#include "model/scoring/threshold.h"
#include "model/scoring/view_tracker.h"

namespace telltale::model {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
constexpr double kBudget = 20;

EncoderConfig TwoChannels() {
  EncoderConfig config;
  config.input_width = 4;
  config.targets = 2;
  config.horizons = {1, 4};
  return config;
}

Checkpoint EmptyCheckpoint() {
  return {.channels = {},
          .config = TwoChannels(),
          .parameters = Parameters(TwoChannels(), 2)};
}

// Normal residuals: channel 0 of deviation 1, channel 1 of deviation 0.5 plus
// 0.8 of channel 0's shocks, which come every 25 instants.
SegmentResiduals NormalResiduals(uint64_t seed, int64_t rows) {
  Random random(seed);
  SegmentResiduals segment;
  segment.residuals.Resize(rows, 4);
  segment.held_out_begin = rows / 4;
  for (int64_t t = 0; t < rows; ++t) {
    const double shock = t % 25 == 0 ? 8 * random.Normal() : 0;
    for (int64_t h = 0; h < 2; ++h) {
      float* row = segment.residuals.Row(t) + 2 * h;
      row[0] = static_cast<float>(random.Normal() + shock);
      row[1] = static_cast<float>(0.5 * random.Normal() + 0.8 * shock);
    }
  }
  return segment;
}

TEST(Calibrate, FindsTheDeviationOfTheHeldOutResiduals) {
  SegmentResiduals segment = NormalResiduals(1, 20'000);
  for (int64_t t = 0; t < segment.held_out_begin; ++t) {
    for (int i = 0; i < 4; ++i) segment.residuals.Row(t)[i] *= 3;
  }
  Checkpoint checkpoint = EmptyCheckpoint();

  Calibrate({&segment, 1}, kBudget, checkpoint);

  EXPECT_NEAR(checkpoint.scoring.residuals.deviation[0], 1.0, 0.2);
  EXPECT_NEAR(checkpoint.scoring.residuals.deviation[1], 0.5, 0.15);
  EXPECT_NEAR(checkpoint.scoring.residuals.deviation[2], 1.0, 0.2);
}

TEST(Calibrate, LeavesOutPartsOfTheEvidence) {
  const SegmentResiduals segment = NormalResiduals(1, 20'000);
  const auto of_magnitude = [&](const EvidenceParts& parts) {
    Checkpoint checkpoint = EmptyCheckpoint();
    Calibrate({&segment, 1}, kBudget, parts, checkpoint);
    const ViewLayout layout = checkpoint.scoring.residuals.layout();
    EXPECT_GT(checkpoint.scoring.curves[layout.Average(1, 0)].Evidence(20), 2);
    EXPECT_EQ(checkpoint.scoring.residuals.mixing[1] != 0, parts.explaining);
    return checkpoint.scoring.curves[layout.Magnitude(0)].Evidence(20);
  };
  EXPECT_GT(of_magnitude({}), 2);
  EXPECT_EQ(of_magnitude({.magnitude = false}), 0);
  EXPECT_GT(of_magnitude({.explaining = false}), 2);
}

TEST(Calibrate, KeepsNoBankOfNoveltyThatIsLeftOut) {
  SegmentResiduals segment = NormalResiduals(1, 3'000);
  segment.samples.Resize(3'000, 2);
  Random random(2);
  for (float& sample : segment.samples.floats()) {
    sample = static_cast<float>(random.Normal());
  }
  const auto bank_points = [&](const EvidenceParts& parts) {
    Checkpoint checkpoint = EmptyCheckpoint();
    Calibrate({&segment, 1}, kBudget, parts, checkpoint);
    EXPECT_EQ(checkpoint.scoring.novelty.weight[0] > 0, parts.novelty);
    return checkpoint.scoring.novelty.banks.at(0).columns();
  };
  EXPECT_GT(bank_points({}), 0);
  EXPECT_EQ(bank_points({.novelty = false}), 0);
}

TEST(Calibrate, LearnsWhichShocksShowInOtherChannels) {
  const SegmentResiduals segment = NormalResiduals(2, 20'000);
  Checkpoint checkpoint = EmptyCheckpoint();
  Calibrate({&segment, 1}, kBudget, checkpoint);
  const ResidualScoring& scoring = checkpoint.scoring.residuals;

  for (int h = 0; h < 2; ++h) {
    // In deviations: 0.8 of a shock over 0.5; each foretells the other.
    const size_t from = scoring.Index(h, 1) * 2;
    EXPECT_NEAR(scoring.mixing[from + 0], 1.6, 0.5);
    EXPECT_EQ(scoring.mixing[from + 1], 0);
  }
  // A shock in both is explained away in at least one of them.
  ResidualTracker tracker(scoring);
  std::vector<float> explained(4);
  std::vector<float> views(scoring.layout().count());
  tracker.Observe(std::vector<float>{8, 6.4F, 8, 6.4F},
                  std::vector<float>{0, 0}, explained, views);
  EXPECT_LT(std::abs(explained[1]), 0.5F * 6.4F / scoring.deviation[1]);
}

TEST(Calibrate, KeepsTheBudgetAndSaysHowWell) {
  const SegmentResiduals segment = NormalResiduals(3, 40'000);
  Checkpoint checkpoint = EmptyCheckpoint();
  Calibrate({&segment, 1}, kBudget, checkpoint);
  const ThresholdRecord& record = checkpoint.threshold;

  EXPECT_EQ(record.budget_per_10k, kBudget);
  EXPECT_EQ(record.instants, 30'000);
  EXPECT_LE(static_cast<double>(record.events), kBudget * 3);
  EXPECT_GT(record.events, 0);
  const double rate = static_cast<double>(record.events) / 3;
  EXPECT_LT(record.low_per_10k, rate);
  EXPECT_GT(record.high_per_10k, rate);
  EXPECT_EQ(checkpoint.nominal_scores.size(), 20'000);
  EXPECT_GT(record.threshold, 0);
}

TEST(Calibrate, KeepsItsBudgetOnFreshResiduals) {
  const SegmentResiduals segment = NormalResiduals(4, 40'000);
  Checkpoint checkpoint = EmptyCheckpoint();
  Calibrate({&segment, 1}, kBudget, checkpoint);

  const SegmentResiduals fresh = NormalResiduals(5, 40'000);
  ViewTracker tracker(checkpoint.scoring);
  InstantViews seen(checkpoint.scoring.residuals);
  const std::vector<float> nothing(2, kMissing);
  std::vector<ChannelEvidence> channels(2);
  std::vector<float> scores;
  for (int64_t t = 0; t < fresh.residuals.rows(); ++t) {
    tracker.Observe({.residuals = std::span(fresh.residuals.Row(t), 4),
                     .change = nothing,
                     .samples = nothing},
                    seen);
    JudgeViews(checkpoint.scoring, seen.views, channels);
    scores.push_back(checkpoint.combined.Evidence(
        std::max(channels[0].evidence, channels[1].evidence)));
  }
  const int64_t events = CountEvents(scores, checkpoint.threshold.threshold);
  EXPECT_LE(static_cast<double>(events), 1.3 * kBudget * 4);
}

TEST(Calibrate, MakesScoresTheTailProbabilityOfAnInstant) {
  const SegmentResiduals segment = NormalResiduals(6, 40'000);
  Checkpoint checkpoint = EmptyCheckpoint();
  Calibrate({&segment, 1}, kBudget, checkpoint);
  const std::vector<float>& scores = checkpoint.nominal_scores;

  for (const double score : {0.5, 1.0, 2.0}) {
    double beyond = 0;
    for (const float s : scores) beyond += s > score ? 1 : 0;
    const double expected =
        static_cast<double>(scores.size()) * std::pow(10.0, -score);
    EXPECT_NEAR(beyond, expected, 0.25 * expected) << score;
  }
}

TEST(Calibrate, DoesNotMindGapsInTheResiduals) {
  SegmentResiduals segment = NormalResiduals(7, 8'000);
  Random random(1);
  for (float& r : segment.residuals.floats()) {
    if (random.Uniform() < 0.2) r = kMissing;
  }
  for (int i = 0; i < 4; ++i) segment.residuals.Row(5000)[i] = kMissing;
  Checkpoint checkpoint = EmptyCheckpoint();
  Calibrate({&segment, 1}, kBudget, checkpoint);

  EXPECT_EQ(checkpoint.threshold.instants,
            static_cast<int64_t>(checkpoint.nominal_scores.size()));
  EXPECT_LT(checkpoint.threshold.instants, 6000);
  for (const TailCurve& curve : checkpoint.scoring.curves) {
    EXPECT_TRUE(TailCurve::Check(curve.values()).ok());
  }
  EXPECT_TRUE(std::isfinite(checkpoint.threshold.threshold));
}

TEST(Calibrate, IsNotSurprisedByAChannelThatNeverHadAResidual) {
  SegmentResiduals segment = NormalResiduals(8, 8'000);
  for (int64_t t = 0; t < 8'000; ++t) {
    segment.residuals.Row(t)[1] = kMissing;
    segment.residuals.Row(t)[3] = kMissing;
  }
  Checkpoint checkpoint = EmptyCheckpoint();
  Calibrate({&segment, 1}, kBudget, checkpoint);

  const size_t unknown = checkpoint.scoring.residuals.Index(0, 1);
  EXPECT_EQ(checkpoint.scoring.curves[unknown].Evidence(5), 0);
}

TEST(Calibrate, FloorsTheDeviationOfAChannelForecastToTheDigit) {
  SegmentResiduals segment = NormalResiduals(9, 8'000);
  for (int64_t t = 0; t < 8'000; ++t) {
    segment.residuals.Row(t)[0] = 0;
    segment.residuals.Row(t)[2] = 0;
  }
  Checkpoint checkpoint = EmptyCheckpoint();
  Calibrate({&segment, 1}, kBudget, checkpoint);

  EXPECT_FLOAT_EQ(checkpoint.scoring.residuals.deviation[0], 0.02F);
  // A residual of a scaled unit there is far out, yet finite.
  const float evidence = checkpoint.scoring.curves[0].Evidence(1 / 0.02F);
  EXPECT_GT(evidence, 5);
  EXPECT_TRUE(std::isfinite(evidence));
}

TEST(Calibrate, HoldsAChannelToItsLevelOnlyWhereItRestedAtOne) {
  SegmentResiduals segment = NormalResiduals(11, 8'000);
  segment.samples.Resize(8'000, 2);
  Random random(12);
  double wandering = 0;
  for (int64_t t = 0; t < 8'000; ++t) {
    wandering += 0.05 * (random.Normal() - 0.05 * wandering);
    segment.samples.Row(t)[0] = static_cast<float>(random.Normal());
    segment.samples.Row(t)[1] = static_cast<float>(wandering);
  }
  Checkpoint checkpoint = EmptyCheckpoint();
  Calibrate({&segment, 1}, kBudget, checkpoint);

  const Scoring& scoring = checkpoint.scoring;
  const ViewLayout layout = scoring.residuals.layout();
  EXPECT_GT(scoring.curves[layout.Level(0)].Evidence(3), 4);
  EXPECT_EQ(scoring.curves[layout.Level(1)].Evidence(3), 0);

  // A labelled fault, whose residuals are taken out, is not learnt as nominal.
  for (int64_t t = 7'000; t < 7'120; ++t) {
    std::fill_n(segment.residuals.Row(t), 4, kMissing);
    if (t < 7'100) segment.samples.Row(t)[0] = 50;
  }
  Calibrate({&segment, 1}, kBudget, checkpoint);
  EXPECT_GT(scoring.curves[layout.Level(0)].Evidence(3), 4);

  // Two values alone are a switch, not a level.
  for (int64_t t = 0; t < 8'000; ++t) {
    float& sample = segment.samples.Row(t)[0];
    sample = sample < 0 ? -1.0F : 1.0F;
  }
  Calibrate({&segment, 1}, kBudget, checkpoint);
  EXPECT_EQ(scoring.curves[layout.Level(0)].Evidence(3), 0);
}

TEST(Calibrate, SetsAThresholdForScoresThatLookAhead) {
  const SegmentResiduals segment = NormalResiduals(10, 40'000);
  Checkpoint checkpoint = EmptyCheckpoint();
  Calibrate({&segment, 1}, kBudget, checkpoint);

  const ThresholdRecord& record = checkpoint.lagged_threshold;
  EXPECT_EQ(record.instants, 20'000);
  EXPECT_GT(record.threshold, 0);
  EXPECT_LE(static_cast<double>(record.events), kBudget * 2);
}

// Channels that are forecast well and badly: samples wander or repeat a ramp,
// residuals are small or as large as the samples.
SegmentResiduals ForecastWellAndBadly(uint64_t seed, int64_t rows) {
  SegmentResiduals segment = NormalResiduals(seed, rows);
  segment.samples.Resize(rows, 2);
  segment.changes.Resize(rows, 2);
  Random random(seed);
  double level = 0;
  for (int64_t t = 0; t < rows; ++t) {
    level = 0.95 * level + random.Normal();
    segment.samples.Row(t)[0] = static_cast<float>(level);
    segment.samples.Row(t)[1] = static_cast<float>(t % 50) / 25 - 1;
    for (int i : {0, 2}) {
      segment.residuals.Row(t)[i] = static_cast<float>(0.1 * random.Normal());
      segment.residuals.Row(t)[i + 1] =
          t % 50 < 25 ? 0.9F
                      : -0.9F + static_cast<float>(0.1 * random.Normal());
    }
    segment.changes.Row(t)[0] = 0;
    segment.changes.Row(t)[1] = 0;
  }
  return segment;
}

TEST(Calibrate, WeighsNoveltyWhereForecastsTellLess) {
  const SegmentResiduals segment = ForecastWellAndBadly(11, 8'000);
  Checkpoint checkpoint = EmptyCheckpoint();
  Calibrate({&segment, 1}, kBudget, checkpoint);
  const NoveltyScoring& novelty = checkpoint.scoring.novelty;

  EXPECT_EQ(novelty.weight[0], 0);
  EXPECT_EQ(novelty.banks[0].columns(), 0);
  EXPECT_GT(novelty.weight[1], 0.5F);
  // The ramp repeats: there are but fifty points, and few at its beginning.
  EXPECT_GE(novelty.banks[1].columns(), 50);
  EXPECT_LE(novelty.banks[1].columns(), 50 + NoveltyScoring::kTaps);
}

}  // namespace
}  // namespace telltale::model
