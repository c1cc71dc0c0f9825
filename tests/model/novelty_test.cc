#include "model/scoring/novelty.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/random.h"
#include "model/scoring/novelty_fit.h"

namespace telltale::model {
namespace {

constexpr int kTaps = NoveltyScoring::kTaps;
constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

std::vector<float> Noise(uint64_t seed, int count) {
  Random random(seed);
  std::vector<float> samples(static_cast<size_t>(count));
  for (float& x : samples) x = static_cast<float>(random.Normal());
  return samples;
}

std::vector<float> Ramp(int count) {
  std::vector<float> samples;
  samples.reserve(static_cast<size_t>(count));
  for (int t = 0; t < count; ++t) {
    samples.push_back(static_cast<float>(t % 40) / 20);
  }
  return samples;
}

PointSet PointsOf(const std::vector<float>& samples) {
  const PointSet::Part part = {samples, 0, static_cast<int64_t>(samples.size()),
                               0};
  return PointSet({&part, 1});
}

NoveltyScoring OneChannel(const std::vector<float>& training) {
  NoveltyScoring scoring;
  scoring.weight = {1};
  scoring.banks.push_back(PointsOf(training).ChooseBank());
  return scoring;
}

std::vector<Novelty> Follow(const NoveltyScoring& scoring,
                            const std::vector<float>& samples) {
  NoveltyTracker tracker(scoring);
  std::vector<Novelty> all;
  for (const float x : samples) {
    Novelty novelty;
    tracker.Push({&x, 1}, {&novelty, 1});
    all.push_back(novelty);
  }
  return all;
}

TEST(Novelty, IsTheRootMeanSquareDistanceFromTheNearestPoint) {
  Matrix bank(kTaps, 2);
  for (int tap = 0; tap < kTaps; ++tap) {
    bank.Row(tap)[0] = 0;
    bank.Row(tap)[1] = static_cast<float>(tap);
  }
  std::vector<float> point(kTaps, 3);

  const Novelty novelty = DistanceFromBank(point, bank);

  EXPECT_FLOAT_EQ(novelty.distance, 3);
  EXPECT_FLOAT_EQ(novelty.habituated, 3);
  EXPECT_FLOAT_EQ(novelty.shape, 0);  // flat, as the first point is
}

TEST(Novelty, ChoosesABankThatCoversAllOfTraining) {
  const std::vector<float> training = Noise(1, 3000);
  const Matrix bank = PointsOf(training).ChooseBank();
  const Matrix first = [&] {
    const std::vector<float> beginning(training.begin(),
                                       training.begin() + 256);
    return PointsOf(beginning).ChooseBank();
  }();
  ASSERT_EQ(bank.columns(), NoveltyScoring::kBankSize);

  float farthest = 0;
  float farthest_of_first = 0;
  std::vector<float> point(kTaps);
  for (int64_t t = 0; t < 3000; ++t) {
    PointAt(training, t, point);
    farthest = std::max(farthest, DistanceFromBank(point, bank).distance);
    farthest_of_first =
        std::max(farthest_of_first, DistanceFromBank(point, first).distance);
  }
  EXPECT_LT(farthest, farthest_of_first);
}

TEST(NoveltyTracker, KnowsWhatItWasTrainedOnAndNothingElse) {
  const NoveltyScoring scoring = OneChannel(Ramp(2000));
  std::vector<float> samples = Ramp(600);
  for (size_t t = 400; t < 430; ++t) samples[t] = t % 2 == 0 ? -1 : -2;

  const std::vector<Novelty> novelty = Follow(scoring, samples);

  for (size_t t = 20; t < 400; ++t) EXPECT_LT(novelty[t].distance, 1e-3F) << t;
  EXPECT_GT(novelty[425].distance, 0.9F);
  EXPECT_GT(novelty[425].shape, 0.1F);
  for (size_t t = 450; t < 600; ++t) {
    EXPECT_LT(novelty[t].distance, 1e-3F) << t;
  }
}

TEST(NoveltyTracker, GetsUsedToWhatComesAgain) {
  const NoveltyScoring scoring = OneChannel(std::vector<float>(1000, 0));
  const std::vector<Novelty> novelty = Follow(scoring, Ramp(400));

  // The ramp is new for one period and the nearest lag, and known from then.
  EXPECT_GT(novelty[79].habituated, 0.2F);
  for (size_t t = 120; t < 400; ++t) {
    EXPECT_LT(novelty[t].habituated, 1e-3F) << t;
    EXPECT_GT(novelty[t].distance, 0.2F) << t;
  }
}

TEST(NoveltyTracker, OwnDistancesAreThoseOfPlainLoops) {
  const NoveltyScoring scoring = OneChannel(std::vector<float>(1000, 50));
  const std::vector<float> samples = Noise(2, 1500);
  const std::vector<Novelty> novelty = Follow(scoring, samples);

  for (int t = 700; t < 1500; t += 7) {
    double nearest = std::numeric_limits<double>::max();
    for (int lag = NoveltyScoring::kNearestLag;
         lag <= NoveltyScoring::kFarthestLag; ++lag) {
      double squares = 0;
      for (int tap = 0; tap < kTaps; ++tap) {
        const double difference = samples[static_cast<size_t>(t - tap)] -
                                  samples[static_cast<size_t>(t - tap - lag)];
        squares += difference * difference;
      }
      nearest = std::min(nearest, squares);
    }
    EXPECT_NEAR(novelty[static_cast<size_t>(t)].habituated,
                std::sqrt(nearest / kTaps), 2e-3);
  }
}

TEST(NoveltyTracker, AMissingSampleIsTheLastOneHeld) {
  const NoveltyScoring scoring = OneChannel(Ramp(2000));
  std::vector<float> held = Ramp(300);
  held[200] = held[199];
  std::vector<float> holed = held;
  holed[200] = kMissing;

  const auto expected = Follow(scoring, held);
  const auto found = Follow(scoring, holed);

  for (size_t t = 0; t < 300; ++t) {
    EXPECT_EQ(found[t].habituated, expected[t].habituated);
    EXPECT_EQ(found[t].shape, expected[t].shape);
  }
}

TEST(NoveltyTracker, ForgetsAllButTheFarthestLagToTheBit) {
  const NoveltyScoring scoring = OneChannel(Noise(3, 1000));
  const std::vector<float> samples = Noise(4, 3000);
  const int memory = NoveltyScoring::kFarthestLag + kTaps;
  const std::vector<float> recent(samples.begin() + 1000, samples.end());

  const auto all = Follow(scoring, samples);
  const auto rebuilt = Follow(scoring, recent);

  for (size_t t = static_cast<size_t>(memory); t < rebuilt.size(); ++t) {
    ASSERT_EQ(rebuilt[t].habituated, all[t + 1000].habituated) << t;
    ASSERT_EQ(rebuilt[t].distance, all[t + 1000].distance) << t;
  }
}

TEST(NoveltyTracker, GoesOnFromSavedBytes) {
  const NoveltyScoring scoring = OneChannel(Noise(5, 1000));
  const std::vector<float> samples = Noise(6, 1200);
  NoveltyTracker tracker(scoring);
  Novelty novelty;
  for (size_t t = 0; t < 1000; ++t) {
    tracker.Push({&samples[t], 1}, {&novelty, 1});
  }
  std::string bytes;
  tracker.Save(bytes);
  NoveltyTracker restored(scoring);
  std::string_view view = bytes;
  ASSERT_TRUE(restored.Restore(view));
  EXPECT_TRUE(view.empty());

  for (size_t t = 1000; t < 1200; ++t) {
    Novelty again;
    tracker.Push({&samples[t], 1}, {&novelty, 1});
    restored.Push({&samples[t], 1}, {&again, 1});
    ASSERT_EQ(again.habituated, novelty.habituated);
  }
  std::string_view cut = std::string_view(bytes).substr(0, bytes.size() - 1);
  EXPECT_FALSE(restored.Restore(cut));
}

TEST(NoveltyWeight, RisesWithWhatForecastsLeaveOver) {
  EXPECT_EQ(NoveltyWeight(0.1F, 1, false), 0);
  EXPECT_EQ(NoveltyWeight(2, 1, false), 0);
  EXPECT_GT(NoveltyWeight(4, 1, false), 0);
  EXPECT_GT(NoveltyWeight(8, 1, false), NoveltyWeight(4, 1, false));
  EXPECT_EQ(NoveltyWeight(1e6F, 0, false), 6);
}

TEST(NoveltyWeight, IsMoreThanThatOfResidualsWhereInstantsAreFew) {
  EXPECT_GT(NoveltyWeight(0.1F, 1, true), 1);
  EXPECT_EQ(NoveltyWeight(1e6F, 0, true), 6);
}

}  // namespace
}  // namespace telltale::model
