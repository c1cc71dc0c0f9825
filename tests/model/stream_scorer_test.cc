// What a stream makes of irregular, incomplete and absurd telemetry.

#include "model/scoring/stream_scorer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/detector.h"
#include "model/random.h"
#include "tests/support/plant.h"
#include "tests/support/plant_detector.h"

namespace telltale::model {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
constexpr int kLongestHorizon = 8;

void Lose(data::Series& series, int begin, int end,
          std::initializer_list<int> channels) {
  for (const int c : channels) Overwrite(series, c, begin, end, kMissing);
}

void LoseAll(data::Series& series, int begin, int end) {
  Lose(series, begin, end, {kInlet, kOutlet, kTank, kStill, kValve, kMode});
}

// Moves the time stamps from instant `begin` on.
void Delay(data::Series& series, int begin, double cadences) {
  for (int t = begin; t < series.length(); ++t) {
    series.time_ns[static_cast<size_t>(t)] +=
        static_cast<int64_t>(cadences * static_cast<double>(kPlantCadenceNs));
  }
}

InstantState StateAt(const std::vector<InstantScore>& scores, int t) {
  return scores[static_cast<size_t>(t)].state;
}

TEST(StreamScorer, ANominalStreamRaisesFewAlarms) {
  const auto scores = Score(PlantSeries(50, 4000));

  // The budget is 40 events in 10,000; alarms come in groups of a few.
  EXPECT_LT(CountAlarms(scores), 4000 * 0.05);
}

TEST(StreamScorer, WarmsUpBeforeItScores) {
  const auto scores = Score(PlantSeries(50, 100));

  for (int t = 0; t < 100; ++t) {
    EXPECT_EQ(StateAt(scores, t), t < StreamScorer::kWarmUp
                                      ? InstantState::kWarmingUp
                                      : InstantState::kScored)
        << t;
  }
  for (int t = 0; t < StreamScorer::kWarmUp; ++t) {
    const InstantScore& score = scores[static_cast<size_t>(t)];
    EXPECT_EQ(score.score, 0);
    EXPECT_EQ(score.probability, 0);
    EXPECT_FALSE(score.anomaly);
    EXPECT_TRUE(score.contributions.empty());
    EXPECT_TRUE(score.points_back_to.empty());
  }
}

TEST(StreamScorer, GivesNoScoreWhereForecastsMeetNothing) {
  data::Series series = PlantSeries(50, 200);
  Delay(series, 100, 500.3);  // a gap, not of whole cadences
  const auto scores = Score(series);

  EXPECT_EQ(StateAt(scores, 99), InstantState::kScored);
  EXPECT_EQ(StateAt(scores, 100), InstantState::kWarmingUp);
  EXPECT_EQ(StateAt(scores, 101), InstantState::kScored);  // one ahead again
}

TEST(StreamScorer, MeetsTheLongerForecastsAcrossAShortGap) {
  data::Series series = PlantSeries(50, 200);
  std::vector<bool> keep(200, true);
  for (int t = 100; t < 105; ++t) keep[static_cast<size_t>(t)] = false;
  const auto scores = Score(Select(series, keep));

  // Five instants lost: the next was forecast eight ahead, by instant 97.
  EXPECT_EQ(StateAt(scores, 100), InstantState::kScored);
}

TEST(StreamScorer, AcrossAGapTimeCountsAndNotTheNumberOfInstants) {
  // The same samples with and without a gap: other forecasts, other scores.
  data::Series gap = PlantSeries(50, 200);
  Delay(gap, 100, 3);
  const auto with_gap = Score(gap);
  const auto without = Score(PlantSeries(50, 200));

  EXPECT_EQ(with_gap[99].score, without[99].score);
  EXPECT_NE(with_gap[110].score, without[110].score);
}

TEST(StreamScorer, ScoresJitteredTimeStampsMuchAsRegularOnes) {
  data::Series jittered = PlantSeries(50, 3000);
  Random random(4);
  for (int64_t& time_ns : jittered.time_ns) {
    time_ns += random.Below(kPlantCadenceNs / 5);
  }
  const auto scores = Score(jittered);
  const auto regular = Score(PlantSeries(50, 3000));

  int scored = 0;
  for (const InstantScore& score : scores) {
    scored += score.state == InstantState::kScored ? 1 : 0;
  }
  EXPECT_EQ(scored, 3000 - StreamScorer::kWarmUp);
  EXPECT_LT(CountAlarms(scores), CountAlarms(regular) + 3000 * 0.03);
}

TEST(StreamScorer, ScoresAnyStartOfTimeAlike) {
  const data::Series series = PlantSeries(50, 300);
  data::Series shifted = series;
  // From 1970 on, and before.
  for (const int64_t start : {int64_t{0}, -150 * kPlantCadenceNs}) {
    for (int t = 0; t < 300; ++t) {
      shifted.time_ns[static_cast<size_t>(t)] = start + t * kPlantCadenceNs;
    }
    const auto scores = Score(shifted);
    const auto expected = Score(series);
    for (size_t t = 0; t < 300; ++t) {
      EXPECT_EQ(scores[t].state, expected[t].state);
      // Only the angles of the positions round differently.
      EXPECT_NEAR(scores[t].score, expected[t].score,
                  0.02 + 0.01 * expected[t].score);
    }
  }
}

TEST(StreamScorer, CountsTheSamplesMissing) {
  data::Series series = PlantSeries(50, 60);
  Lose(series, 40, 41, {kInlet});
  Lose(series, 50, 51, {kOutlet, kValve, kMode});
  const auto scores = Score(series);

  EXPECT_EQ(scores[39].missing, 0);
  EXPECT_EQ(scores[40].missing, 1);
  EXPECT_EQ(scores[50].missing, 3);
  EXPECT_EQ(StateAt(scores, 50), InstantState::kScored);
}

TEST(StreamScorer, NamesNoChannelWhoseSampleIsMissing) {
  data::Series series = PlantSeries(50, 100);
  Overwrite(series, kTank, 80, 90, 500);  // an alarm, so that all are named
  Lose(series, 80, 90, {kOutlet});
  const auto scores = Score(series);

  for (size_t t = 80; t < 90; ++t) {
    ASSERT_TRUE(scores[t].anomaly);
    EXPECT_EQ(scores[t].contributions.size(), 3);
    for (const Contribution& c : scores[t].contributions) {
      EXPECT_NE(c.channel, kOutlet);
    }
  }
}

TEST(StreamScorer, HalfOfTheContinuousChannelsSuffice) {
  data::Series series = PlantSeries(50, 100);
  Lose(series, 60, 70, {kInlet, kOutlet});         // two of four
  Lose(series, 80, 90, {kInlet, kOutlet, kTank});  // three of four
  const auto scores = Score(series);

  for (int t = 60; t < 70; ++t) {
    EXPECT_EQ(StateAt(scores, t), InstantState::kScored) << t;
  }
  for (int t = 80; t < 90; ++t) {
    EXPECT_EQ(StateAt(scores, t), InstantState::kIncomplete) << t;
    const InstantScore& score = scores[static_cast<size_t>(t)];
    EXPECT_EQ(score.score, 0);
    EXPECT_FALSE(score.anomaly);
    EXPECT_TRUE(score.contributions.empty());
  }
  EXPECT_EQ(StateAt(scores, 90), InstantState::kScored);
}

TEST(StreamScorer, AnInstantWithoutASampleIsAsIfItHadNotBeen) {
  data::Series series = EventfulSeries(5, 500);
  LoseAll(series, 120, 123);
  LoseAll(series, 305, 306);
  std::vector<bool> keep;
  keep.reserve(series.time_ns.size());
  for (int t = 0; t < series.length(); ++t) {
    keep.push_back(!std::ranges::all_of(series.Instant(t),
                                        [](float x) { return std::isnan(x); }));
  }
  const auto scores = Score(series, 50);
  const auto without = Score(Select(series, keep), 50);

  std::vector<InstantScore> kept;
  for (size_t t = 0; t < scores.size(); ++t) {
    if (keep[t]) {
      kept.push_back(scores[t]);
    } else {
      EXPECT_EQ(scores[t].state, InstantState::kIncomplete);
      EXPECT_EQ(scores[t].missing, kPlantChannels);
    }
  }
  ASSERT_LT(kept.size(), scores.size() - 3);
  EXPECT_EQ(Texts(kept), Texts(without));
}

TEST(StreamScorer, AStreamMayConsistOfNothing) {
  data::Series series = PlantSeries(50, 40);
  LoseAll(series, 0, 40);
  const Detector& detector = PlantDetector();
  const auto state = detector.NewStream();
  const auto scores = Advance(detector, *state, series, 0, 40);

  ASSERT_EQ(scores.size(), 40);
  for (const InstantScore& score : scores) {
    EXPECT_EQ(score.state, InstantState::kIncomplete);
  }
  EXPECT_EQ(state->instant_count(), 0);
  EXPECT_EQ(state->last_time_ns(), series.time_ns.back());
}

TEST(StreamScorer, AValueBeyondAllBoundsScoresHighAndIsBlamed) {
  for (const int channel : {kInlet, kOutlet, kTank, kStill}) {
    for (const float factor : {50'000.0F, -50'000.0F}) {
      data::Series series = PlantSeries(50, 200);
      const float nominal = series.Instant(150)[static_cast<size_t>(channel)];
      Overwrite(series, channel, 150, 151, factor * nominal);
      const auto scores = Score(series);

      const InstantScore& score = scores[150];
      EXPECT_TRUE(std::isfinite(score.score));
      EXPECT_GT(score.score, 5) << "channel " << channel;
      EXPECT_TRUE(score.anomaly);
      ASSERT_FALSE(score.contributions.empty());
      EXPECT_EQ(score.contributions[0].channel, channel);
      EXPECT_GT(score.contributions[0].share, 0.5F);
      EXPECT_EQ(score.contributions[0].observed, factor * nominal);
      EXPECT_NEAR(score.contributions[0].expected, nominal,
                  0.3F * std::abs(nominal));
    }
  }
}

TEST(StreamScorer, TheLargestAllowedSamplesLeaveEverythingFinite) {
  data::Series series = PlantSeries(50, 300);
  Random random(6);
  for (size_t i = 100UL * kPlantChannels; i < 200UL * kPlantChannels; ++i) {
    series.samples[i] = random.Uniform() < 0.5 ? 1e30F : -1e30F;
  }
  for (const InstantScore& score : Score(series)) {
    EXPECT_TRUE(std::isfinite(score.score));
    EXPECT_TRUE(0 <= score.probability && score.probability <= 1);
    for (const Contribution& c : score.contributions) {
      EXPECT_TRUE(std::isfinite(c.share));
      EXPECT_TRUE(std::isfinite(c.expected));
    }
    for (const PointedInstant& p : score.points_back_to) {
      EXPECT_TRUE(std::isfinite(p.weight));
    }
  }
}

TEST(StreamScorer, CalmsDownOnceAnAbsurdSampleIsOutOfReach) {
  data::Series series = PlantSeries(50, 1200);
  Overwrite(series, kTank, 150, 151, 1e9F);
  const auto scores = Score(series);
  const auto nominal = Score(PlantSeries(50, 1200));

  // Past the reach of every layer and mean, not a bit is different.
  const int reach = PlantCheckpoint().config.receptive_field() +
                    kLongestHorizon + ViewTracker::kReplayLength;
  for (size_t t = 150 + static_cast<size_t>(reach); t < 1200; ++t) {
    EXPECT_EQ(scores[t].score, nominal[t].score) << t;
  }
}

TEST(StreamScorer, AnUnknownCodeIsNoDisaster) {
  data::Series series = PlantSeries(50, 200);
  Overwrite(series, kMode, 100, 150, 77);
  const auto scores = Score(series);

  for (int t = 100; t < 150; ++t) {
    EXPECT_EQ(StateAt(scores, t), InstantState::kScored);
    EXPECT_EQ(scores[static_cast<size_t>(t)].missing, 0);
  }
}

TEST(StreamScorer, SeesAStepOfAUnitInAChannelThatNeverMoved) {
  data::Series series = PlantSeries(50, 200);
  Overwrite(series, kStill, 150, 170, 29);
  const auto scores = Score(series);

  EXPECT_TRUE(scores[150].anomaly);
  EXPECT_EQ(scores[150].contributions.front().channel, kStill);
}

TEST(StreamScorer, SeesAnEffectThatDoesNotCome) {
  // The dip is there, the outlet follows as if it were not.
  data::Series nominal = PlantSeries(50, 400);
  int missed = 0;
  int noticed = 0;
  for (int t = 100; t < 350; ++t) {
    const float inlet = nominal.Instant(t)[kInlet];
    if (inlet > 175 || nominal.Instant(t - 1)[kInlet] < 180) continue;
    data::Series series = nominal;
    Overwrite(series, kOutlet, t + kPlantLag - 2, t + kPlantLag + 8, 80);
    const auto scores = Score(series);
    ++missed;
    bool alarm = false;
    for (int i = t + kPlantLag; i < t + kPlantLag + 8; ++i) {
      const InstantScore& score = scores[static_cast<size_t>(i)];
      alarm |= score.anomaly && score.contributions[0].channel == kOutlet;
    }
    noticed += alarm ? 1 : 0;
  }
  ASSERT_GE(missed, 2);
  EXPECT_EQ(noticed, missed);
}

}  // namespace
}  // namespace telltale::model
