#include "model/training/window_sampler.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/positions.h"
#include "tests/support/plant.h"

namespace telltale::model {
namespace {

// Two segments of one continuous channel that counts: the first from 0, the
// second from 1000.
class WindowSamplerTest : public testing::Test {
 protected:
  WindowSamplerTest() {
    for (int s = 0; s < 2; ++s) {
      data::Series& series = segments_.emplace_back();
      series.channels =
          data::ChannelSet::Create({MakeChannel("count", "")}).value();
      for (int t = 0; t < 100; ++t) {
        series.time_ns.push_back((s * 1'000'000 + t) * kPlantCadenceNs);
        series.samples.push_back(static_cast<float>(1000 * s + t));
      }
    }
    config_.horizons = {1, 8};
    config_.targets = 1;
    config_.input_width = 2;
  }

  WindowSampler Sampler(double noise = 0) const {
    return {segments_, kPlantCadenceNs, config_, encoding_, labels_, noise};
  }
  TrainingWindow Fill(const Range& range) const {
    TrainingWindow window;
    Sampler().Fill(range, &stand_in_, nullptr, window);
    return window;
  }

  std::vector<data::Series> segments_;
  // Hundreds become ones, so that nothing is clamped.
  const Scaler scaler_ = {{0}, {1000}};
  const data::ChannelSet channels_ =
      data::ChannelSet::Create({MakeChannel("count", "")}).value();
  const InputEncoding encoding_{channels_, scaler_};
  EncoderConfig config_;
  FaultLabels labels_;
  const float stand_in_ = 0.5F;
};

TEST_F(WindowSamplerTest, DrawsWithinARangeAndEveryPlaceAlike) {
  const std::vector<Range> ranges = {{0, 10, 40}, {1, 50, 80}};
  Random random(1);
  std::map<std::pair<int, int>, int> places;
  for (int i = 0; i < 22'000; ++i) {
    const Range range = Sampler().Draw(ranges, 20, random);
    ASSERT_EQ(range.length(), 20);
    const Range& within = ranges[static_cast<size_t>(range.segment)];
    ASSERT_GE(range.begin, within.begin);
    ASSERT_LE(range.end, within.end);
    ++places[{range.segment, range.begin}];
  }
  EXPECT_EQ(places.size(), 22);  // 11 in each
  for (const auto& [place, count] : places) EXPECT_NEAR(count, 1000, 200);
}

TEST_F(WindowSamplerTest, DrawsAWholeRangeThatIsTooShort) {
  const std::vector<Range> ranges = {{0, 10, 25}};
  Random random(1);

  const Range range = Sampler().Draw(ranges, 20, random);

  EXPECT_EQ(range.begin, 10);
  EXPECT_EQ(range.end, 25);
}

TEST_F(WindowSamplerTest, ShowsWhatEachInstantIsFollowedBy) {
  const TrainingWindow window = Fill({0, 20, 30});

  for (int t = 0; t < 10; ++t) {
    EXPECT_EQ(window.positions[static_cast<size_t>(t)], 20 + t);
    EXPECT_FLOAT_EQ(window.x.Row(t)[0], static_cast<float>(20 + t) / 1000);
    EXPECT_EQ(window.x.Row(t)[1], 0);
    // The changes over one and eight instants.
    EXPECT_NEAR(window.target.Row(t)[0], 0.001, 1e-6);
    EXPECT_NEAR(window.target.Row(t)[1], 0.008, 1e-6);
  }
}

TEST_F(WindowSamplerTest, NeverLooksFromOneSegmentIntoTheNext) {
  const TrainingWindow last = Fill({0, 90, 100});
  for (int t = 0; t < 10; ++t) {
    EXPECT_EQ(std::isnan(last.target.Row(t)[0]), t >= 9) << t;
    EXPECT_EQ(std::isnan(last.target.Row(t)[1]), t >= 2) << t;
    EXPECT_LT(last.x.Row(t)[0], 0.1F);
  }
  const TrainingWindow first = Fill({1, 0, 10});
  EXPECT_FLOAT_EQ(first.x.Row(0)[0], 1);
  EXPECT_NEAR(first.target.Row(0)[0], 0.001, 1e-6);
}

TEST_F(WindowSamplerTest, HasNoTargetInAGap) {
  data::Series& series = segments_[0];
  for (int t = 50; t < 100; ++t) {
    series.time_ns[static_cast<size_t>(t)] += 5 * kPlantCadenceNs;
  }

  const TrainingWindow window = Fill({0, 40, 60});

  for (int t = 0; t < 20; ++t) {
    EXPECT_EQ(std::isnan(window.target.Row(t)[0]), t == 9) << t;
    // Eight ahead falls into the gap from five of the instants before it.
    const bool in_gap = 2 <= t && t <= 6;
    EXPECT_EQ(std::isnan(window.target.Row(t)[1]), in_gap) << t;
  }
  // Eight ahead of instant 47, across the gap, is instant 50.
  EXPECT_NEAR(window.target.Row(7)[1], 0.050 - 0.047, 1e-6);
}

TEST_F(WindowSamplerTest, HasNoTargetWhereASampleIsMissing) {
  Overwrite(segments_[0], 0, 25, 26, std::nanf(""));

  const TrainingWindow window = Fill({0, 20, 30});

  EXPECT_TRUE(std::isnan(window.target.Row(4)[0]));
  EXPECT_FALSE(std::isnan(window.target.Row(5)[0]));
  EXPECT_EQ(window.x.Row(5)[0], stand_in_);
  EXPECT_EQ(window.x.Row(5)[1], 1);
}

TEST_F(WindowSamplerTest, BoundsTargetsSoThatNoSampleRulesTheLoss) {
  Overwrite(segments_[0], 0, 25, 26, 1e30F);

  EXPECT_LE(Fill({0, 20, 30}).target.Row(4)[0], 10);
}

TEST_F(WindowSamplerTest, SpoilsInputsButNoTargets) {
  const TrainingWindow clean = Fill({0, 0, 90});
  int dropped = 0;
  int changed = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    TrainingWindow spoilt;
    Sampler(0.1).Fill({0, 0, 90}, &stand_in_, &random, spoilt);
    for (int t = 0; t < 90; ++t) {
      // Its input and the change add up to what follows.
      ASSERT_NEAR(spoilt.x.Row(t)[0] + spoilt.target.Row(t)[0],
                  clean.x.Row(t)[0] + clean.target.Row(t)[0], 1e-5);
      if (spoilt.x.Row(t)[1] != 0) {
        ASSERT_EQ(spoilt.x.Row(t)[0], stand_in_);
        ++dropped;
      } else {
        changed += spoilt.x.Row(t)[0] != clean.x.Row(t)[0] ? 1 : 0;
      }
    }
  }
  // Single samples and silent stretches together lose a few in a hundred.
  EXPECT_GT(dropped, 200 * 90 / 100);
  EXPECT_LT(dropped, 200 * 90 / 5);
  EXPECT_EQ(changed, 200 * 90 - dropped);
}

TEST_F(WindowSamplerTest, SpoilsTheSameWayForTheSameSeed) {
  Random first(3);
  Random second(3);
  TrainingWindow a;
  TrainingWindow b;
  Sampler(0.1).Fill({0, 0, 90}, &stand_in_, &first, a);
  Sampler(0.1).Fill({0, 0, 90}, &stand_in_, &second, b);

  EXPECT_EQ(a.x.floats(), b.x.floats());
}

TEST_F(WindowSamplerTest, KnowsFaultsAndTakesNoTargetFromThem) {
  labels_ = FaultLabels::Create(
                segments_,
                std::vector<std::vector<data::TimeRange>>{
                    {{20 * kPlantCadenceNs, 21 * kPlantCadenceNs}}, {}})
                .value();
  const TrainingWindow window = Fill({0, 10, 30});

  ASSERT_EQ(window.fault.size(), 20U);
  for (int t = 0; t < 20; ++t) {
    const int instant = 10 + t;
    EXPECT_EQ(window.fault[static_cast<size_t>(t)],
              instant == 20 || instant == 21);
    // The next instant, and the eighth after.
    EXPECT_EQ(std::isnan(window.target.Row(t)[0]),
              instant == 19 || instant == 20);
    EXPECT_EQ(std::isnan(window.target.Row(t)[1]),
              instant == 12 || instant == 13);
  }
  EXPECT_EQ(Fill({1, 0, 5}).fault, std::vector<bool>(5));
}

}  // namespace
}  // namespace telltale::model
