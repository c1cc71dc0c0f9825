#include "model/scoring/residual_scoring.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/random.h"

namespace telltale::model {
namespace {

using testing::Each;

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

// Two horizons, three channels; channel 1 is foretold by channel 0.
ResidualScoring SmallScoring() {
  ResidualScoring scoring;
  scoring.horizons = 2;
  scoring.targets = 3;
  scoring.deviation = {1, 2, 0.5F, 1, 2, 0.5F};
  scoring.mixing.assign(size_t{2} * 3 * 3, 0.0F);
  scoring.coupling = scoring.mixing;
  for (int h = 0; h < 2; ++h) {
    scoring.mixing[(scoring.Index(h, 1)) * 3 + 0] = 0.75F;
  }
  return scoring;
}

std::vector<float> RandomResiduals(Random& random) {
  std::vector<float> residuals(6);
  for (float& r : residuals) {
    r = static_cast<float>(3 * random.Normal());
    if (random.Uniform() < 0.1) r = kMissing;
  }
  return residuals;
}

struct Explained {
  std::vector<float> explained = std::vector<float>(6);
  std::vector<float> averages;  // magnitudes; missing: -1, which equals itself
  std::vector<float> absence;   // [3], likewise
};

// `change`: foretold by the reference horizon, the first.
Explained Feed(ResidualTracker& tracker, const std::vector<float>& residuals,
               const std::vector<float>& change = {0, 0, 0}) {
  const ViewLayout layout = {.horizons = 2, .targets = 3};
  std::vector<float> views(layout.count());
  Explained result;
  tracker.Observe(residuals, change, result.explained, views);
  const float* averages = &views[layout.Average(0, 0)];
  result.averages.assign(averages, averages + 6);
  const float* absence = &views[layout.Absence(0)];
  result.absence.assign(absence, absence + 3);
  for (auto* views_of : {&result.averages, &result.absence}) {
    std::ranges::replace_if(
        *views_of, [](float view) { return std::isnan(view); }, -1.0F);
  }
  return result;
}

TEST(ResidualTracker, DividesEachResidualByItsDeviation) {
  const ResidualScoring scoring = SmallScoring();
  ResidualTracker tracker(scoring);

  const Explained result = Feed(tracker, {0, 2, 3, 0, -4, -1});

  EXPECT_THAT(result.explained, testing::ElementsAre(0, 1, 6, 0, -2, -2));
}

TEST(ResidualTracker, TakesOffWhatAnotherChannelsShockForetells) {
  const ResidualScoring scoring = SmallScoring();
  ResidualTracker tracker(scoring);

  // Channel 1 deviates by 3; three quarters of channel 0's shock of 4 are 3.
  const Explained result = Feed(tracker, {4, 6, 0, 0, 0, 0});

  EXPECT_EQ(result.explained[0], 4);
  EXPECT_EQ(result.explained[1], 0);
}

TEST(ResidualTracker, NeverMakesAResidualLarger) {
  ResidualScoring scoring = SmallScoring();
  Random random(21);
  for (float& m : scoring.mixing) m = static_cast<float>(random.Normal());
  for (int h = 0; h < 2; ++h) {
    for (int c = 0; c < 3; ++c) {
      scoring.mixing[scoring.Index(h, c) * 3 + static_cast<size_t>(c)] = 0;
    }
  }
  ResidualTracker tracker(scoring);
  int explained_away = 0;
  for (int t = 0; t < 2000; ++t) {
    const std::vector<float> residuals = RandomResiduals(random);
    const Explained result = Feed(tracker, residuals);
    for (size_t i = 0; i < 6; ++i) {
      if (std::isnan(residuals[i])) continue;
      const float before = std::abs(residuals[i] / scoring.deviation[i]);
      ASSERT_LE(std::abs(result.explained[i]), before);
      explained_away += std::abs(result.explained[i]) < before ? 1 : 0;
    }
  }
  EXPECT_GT(explained_away, 1000);  // it does do something
}

TEST(ResidualTracker, ExplainsByNoMoreThanTwentyDeviations) {
  const ResidualScoring scoring = SmallScoring();
  ResidualTracker tracker(scoring);

  // One broken channel, a million deviations off, takes 15 off another and no
  // more.
  const Explained result = Feed(tracker, {1e6F, 100, 0, 0, 0, 0});

  EXPECT_EQ(result.explained[0], 1e6F);
  EXPECT_EQ(result.explained[1], 50 - 15);
}

TEST(ResidualTracker, PassesAMissingResidualOnAndCountsItAsZero) {
  const ResidualScoring scoring = SmallScoring();
  ResidualTracker holed(scoring);
  ResidualTracker zero(scoring);
  for (int t = 0; t < 10; ++t) {
    Feed(holed, {1, 1, 1, 1, 1, 1});
    Feed(zero, {1, 1, 1, 1, 1, 1});
  }

  const Explained with_hole = Feed(holed, {1, 1, kMissing, 1, 1, 1});
  Feed(zero, {1, 1, 0, 1, 1, 1});

  EXPECT_TRUE(std::isnan(with_hole.explained[2]));
  EXPECT_EQ(with_hole.averages[2], -1);
  EXPECT_EQ(with_hole.absence[2], -1);
  EXPECT_EQ(Feed(holed, {1, 1, 1, 1, 1, 1}).averages,
            Feed(zero, {1, 1, 1, 1, 1, 1}).averages);
}

TEST(ResidualTracker, AveragesWhatAChannelIsBeyondThoseItGoesWith) {
  ResidualScoring scoring = SmallScoring();
  scoring.coupling[scoring.Index(0, 2) * 3 + 0] = 1;  // 2 goes with 0
  ResidualTracker together(scoring);
  ResidualTracker apart(scoring);
  Explained with;
  Explained without;

  // Channel 2 deviates by as much each time, with channel 0 and against it.
  for (int t = 0; t < MovingAverages::kTaps; ++t) {
    with = Feed(together, {1, 0, 0.5F, 0, 0, 0});
    without = Feed(apart, {-1, 0, 0.5F, 0, 0, 0});
  }

  EXPECT_EQ(with.explained[2], without.explained[2]);
  EXPECT_NEAR(with.averages[2], 0, 1e-5F);
  EXPECT_NEAR(without.averages[2], 2, 1e-5F);
}

TEST(ResidualTracker, AMissingResidualForetellsNothing) {
  const ResidualScoring scoring = SmallScoring();
  ResidualTracker tracker(scoring);

  const Explained result = Feed(tracker, {kMissing, 6, 0, 0, 0, 0});

  EXPECT_EQ(result.explained[1], 3);
}

TEST(ResidualTracker, AveragesWithWeightsThatFadeByAFifth) {
  const ResidualScoring scoring = SmallScoring();
  ResidualTracker tracker(scoring);
  std::vector<float> averages;
  averages.push_back(Feed(tracker, {0, 0, 0.5F, 0, 0, 0}).averages[2]);
  for (int t = 1; t < 10; ++t) {
    averages.push_back(Feed(tracker, {0, 0, 0, 0, 0, 0}).averages[2]);
  }

  for (size_t t = 1; t < averages.size(); ++t) {
    EXPECT_NEAR(averages[t] / averages[t - 1], 0.8F, 1e-5F);
  }
  // A lasting residual is its own average.
  Explained result;
  for (int t = 0; t < MovingAverages::kTaps; ++t) {
    result = Feed(tracker, {0, 0, 0.5F, 0, 0, 0});
  }
  EXPECT_NEAR(result.averages[2], 1, 1e-5F);
}

TEST(ResidualTracker, AnAbsurdSampleWeighsOnNoLaterAverageBeyondTheClamp) {
  const ResidualScoring scoring = SmallScoring();
  ResidualTracker tracker(scoring);
  const std::vector<float> absurd(6, 1e9F);
  const std::vector<float> quiet(6, 0.0F);

  Feed(tracker, absurd);
  const Explained result = Feed(tracker, quiet);

  // At most 20 deviations, by the weight of the second newest: below a fifth.
  for (const float average : result.averages) {
    EXPECT_GT(std::abs(average), 2);
    EXPECT_LT(std::abs(average), 4);
  }
}

TEST(ResidualTracker, RemembersExactlyAsManyInstantsAsItHasTaps) {
  const ResidualScoring scoring = SmallScoring();
  Random random(31);
  ResidualTracker long_past(scoring);
  for (int t = 0; t < 500; ++t) Feed(long_past, RandomResiduals(random));
  ResidualTracker no_past(scoring);
  Explained first;
  Explained second;
  for (int t = 0; t < MovingAverages::kTaps; ++t) {
    if (t > 0) {
      ASSERT_NE(first.averages, second.averages) << "after " << t;
    }
    const std::vector<float> residuals = RandomResiduals(random);
    first = Feed(long_past, residuals);
    second = Feed(no_past, residuals);
  }

  EXPECT_EQ(first.averages, second.averages);
  for (int t = 0; t < 100; ++t) {
    const std::vector<float> residuals = RandomResiduals(random);
    ASSERT_EQ(Feed(long_past, residuals).averages,
              Feed(no_past, residuals).averages);
  }
}

TEST(ResidualTracker, StaysFiniteWhateverTheResidual) {
  ResidualScoring scoring = SmallScoring();
  scoring.deviation.assign(6, 0.02F);
  ResidualTracker tracker(scoring);

  Explained result =
      Feed(tracker, {3e38F, -3e38F, 3e38F, -3e38F, 3e38F, 1e30F});
  for (const float explained : result.explained) {
    EXPECT_TRUE(std::isfinite(explained));
  }
  result = Feed(tracker, {0, 0, 0, 0, 0, 0});
  for (const float average : result.averages) {
    EXPECT_TRUE(std::isfinite(average));
  }
}

TEST(ResidualTracker, SeesAnEffectThatWasForecastAndDoesNotCome) {
  const ResidualScoring scoring = SmallScoring();
  ResidualTracker comes(scoring);
  ResidualTracker stays(scoring);
  Explained come;
  Explained stay;

  // The forecast of channel 0 rises by two deviations, for twelve instants. It
  // comes true, or the channel stays and each residual is minus the rise.
  for (int t = 0; t < 12; ++t) {
    come = Feed(comes, {0, 0, 0, 0, 0, 0}, {2, 0, 0});
    stay = Feed(stays, {-2, 0, 0, 0, 0, 0}, {2, 0, 0});
  }

  // Each instant's likelihood ratio is (2^2 - 0^2) / 2.
  EXPECT_EQ(stay.absence[0], 12 * 2);
  EXPECT_EQ(come.absence[0], 0);
  EXPECT_EQ(stay.absence[1], 0);
}

TEST(ResidualTracker, ForgetsAnAbsence) {
  const ResidualScoring scoring = SmallScoring();
  ResidualTracker tracker(scoring);
  Feed(tracker, {-2, 0, 0, 0, 0, 0}, {2, 0, 0});

  for (int t = 1; t < ResidualScoring::kAbsenceSpan; ++t) {
    EXPECT_GT(Feed(tracker, {0, 0, 0, 0, 0, 0}).absence[0], 0) << t;
  }
  EXPECT_EQ(Feed(tracker, {0, 0, 0, 0, 0, 0}).absence[0], 0);
}

TEST(ResidualTracker, NothingForetoldIsNotAbsent) {
  const ResidualScoring scoring = SmallScoring();
  ResidualTracker tracker(scoring);

  const Explained result =
      Feed(tracker, {-9, 0, 0, 0, 0, 0}, {kMissing, kMissing, kMissing});

  EXPECT_THAT(result.absence, Each(0));
}

TEST(ResidualTracker, GoesOnFromSavedBytesAsIfNothingHadHappened) {
  const ResidualScoring scoring = SmallScoring();
  Random random(41);
  ResidualTracker tracker(scoring);
  for (int t = 0; t < 77; ++t) Feed(tracker, RandomResiduals(random));
  std::string bytes;
  tracker.Save(bytes);
  bytes += "rest";

  ResidualTracker restored(scoring);
  std::string_view view = bytes;
  ASSERT_TRUE(restored.Restore(view));

  EXPECT_EQ(view, "rest");
  for (int t = 0; t < 100; ++t) {
    const std::vector<float> residuals = RandomResiduals(random);
    ASSERT_EQ(Feed(restored, residuals).averages,
              Feed(tracker, residuals).averages);
  }
}

TEST(ResidualTracker, RefusesTooFewBytes) {
  const ResidualScoring scoring = SmallScoring();
  const ResidualTracker tracker(scoring);
  std::string bytes;
  tracker.Save(bytes);
  for (const size_t size : {size_t{0}, size_t{7}, bytes.size() - 1}) {
    ResidualTracker restored(scoring);
    std::string_view view = std::string_view(bytes).substr(0, size);
    EXPECT_FALSE(restored.Restore(view)) << size;
  }
}

}  // namespace
}  // namespace telltale::model
