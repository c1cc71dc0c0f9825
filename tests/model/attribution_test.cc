#include "model/scoring/attribution.h"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/random.h"

namespace telltale::model {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kFirstKey = 1000;
constexpr int kKeys = 100;
constexpr int64_t kAlarmed = kFirstKey + kKeys + 7;
constexpr int kTaps = 5;  // a key stands for the instant two before it

// Ordinary instants, one a second.
SurpriseLog OrdinaryLog() {
  SurpriseLog log(400);
  for (int64_t i = kFirstKey - 10; i <= kAlarmed; ++i) {
    log.Record(i, {.time_ns = i * kSecond, .deviations = 1, .channel = 0});
  }
  return log;
}

std::vector<PointedInstant> Rank(const std::vector<float>& readout,
                                 const SurpriseLog& log) {
  return RankEarlierInstants(readout, kFirstKey, kTaps, log, kAlarmed,
                             kAlarmed * kSecond);
}

std::vector<float> FlatReadout() { return std::vector<float>(kKeys, 0.001F); }

TEST(RankEarlierInstants, PointsToTheMiddleOfTheKeysTaps) {
  std::vector<float> readout = FlatReadout();
  readout[40] = 1;

  const auto ranked = Rank(readout, OrdinaryLog());

  ASSERT_FALSE(ranked.empty());
  EXPECT_EQ(ranked[0].lag, kAlarmed - (kFirstKey + 40 - 2));
  EXPECT_EQ(ranked[0].time_ns, (kFirstKey + 38) * kSecond);
  EXPECT_EQ(ranked[0].lag_seconds, ranked[0].lag);
  EXPECT_NEAR(ranked[0].weight, 1 / (1 + 99 * 0.001), 1e-4);
}

TEST(RankEarlierInstants, WeighsAnInstantByHowUnusualItWas) {
  std::vector<float> readout = FlatReadout();
  readout[40] = 1;
  readout[70] = 0.5F;
  SurpriseLog log = OrdinaryLog();
  log.Record(
      kFirstKey + 68,
      {.time_ns = (kFirstKey + 68) * kSecond, .deviations = 4, .channel = 3});

  const auto ranked = Rank(readout, log);

  EXPECT_EQ(ranked[0].lag, kAlarmed - (kFirstKey + 68));
  EXPECT_EQ(ranked[0].channel, 3);
  EXPECT_EQ(ranked[1].lag, kAlarmed - (kFirstKey + 38));
  EXPECT_EQ(ranked[1].channel, 0);
}

TEST(RankEarlierInstants, KeepsPeaksSixApartStrongestFirst) {
  Random random(17);
  for (int round = 0; round < 100; ++round) {
    std::vector<float> readout(kKeys);
    for (float& weight : readout) weight = static_cast<float>(random.Uniform());

    const auto ranked = Rank(readout, OrdinaryLog());

    ASSERT_EQ(ranked.size(), kPointedInstants);
    for (size_t i = 0; i < ranked.size(); ++i) {
      if (i > 0) {
        ASSERT_LE(ranked[i].weight, ranked[i - 1].weight);
      }
      ASSERT_GT(ranked[i].lag, 0);
      for (size_t j = 0; j < i; ++j) {
        ASSERT_GE(std::abs(ranked[i].lag - ranked[j].lag), kPeakDistance);
      }
    }
  }
}

TEST(RankEarlierInstants, ToleratesASurpriseThatIsBeyondAllMeasure) {
  std::vector<float> readout = FlatReadout();
  SurpriseLog log = OrdinaryLog();
  log.Record(kFirstKey + 50, {.time_ns = 0, .deviations = 1e9F, .channel = 1});

  for (const PointedInstant& pointed : Rank(readout, log)) {
    EXPECT_TRUE(std::isfinite(pointed.weight));
    EXPECT_LE(pointed.weight, 1);
  }
}

TEST(RankEarlierInstants, PassesOverInstantsThatItKnowsNothingOf) {
  SurpriseLog log(400);
  log.Record(kFirstKey + 10, {.time_ns = 5, .deviations = 1, .channel = 2});

  const auto ranked = Rank(FlatReadout(), log);

  ASSERT_EQ(ranked.size(), 1);
  EXPECT_EQ(ranked[0].lag, kAlarmed - kFirstKey - 10);
  EXPECT_FLOAT_EQ(ranked[0].weight, 1);
  EXPECT_TRUE(Rank(FlatReadout(), SurpriseLog(10)).empty());
}

TEST(RankEarlierInstants, GivesNoWeightWhenTheReadoutIsZero) {
  for (const PointedInstant& pointed :
       Rank(std::vector<float>(kKeys, 0.0F), OrdinaryLog())) {
    EXPECT_EQ(pointed.weight, 0);
  }
}

TEST(SurpriseLog, KnowsTheLatestInstantsAndNoOthers) {
  SurpriseLog log(10);
  EXPECT_EQ(log.Find(0), nullptr);
  for (int64_t i = 0; i < 25; ++i) log.Record(i, {.time_ns = i});

  EXPECT_EQ(log.Find(14), nullptr);
  ASSERT_NE(log.Find(15), nullptr);
  EXPECT_EQ(log.Find(15)->time_ns, 15);
  EXPECT_EQ(log.Find(24)->time_ns, 24);
  EXPECT_EQ(log.Find(25), nullptr);
  EXPECT_EQ(log.Find(-1), nullptr);
}

TEST(SurpriseLog, GoesOnFromSavedBytes) {
  SurpriseLog log(10);
  for (int64_t i = 0; i < 25; ++i) {
    log.Record(i, {.time_ns = i, .deviations = 2, .channel = 1});
  }
  std::string bytes;
  log.Save(bytes);

  SurpriseLog restored(10);
  std::string_view view = bytes;
  ASSERT_TRUE(restored.Restore(view));

  EXPECT_TRUE(view.empty());
  ASSERT_NE(restored.Find(20), nullptr);
  EXPECT_EQ(restored.Find(20)->time_ns, 20);
  EXPECT_EQ(restored.Find(14), nullptr);
  std::string_view cut = std::string_view(bytes).substr(0, bytes.size() - 1);
  EXPECT_FALSE(SurpriseLog(10).Restore(cut));
}

}  // namespace
}  // namespace telltale::model
