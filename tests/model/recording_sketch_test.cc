#include "model/checkpoint/recording_sketch.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "model/random.h"
#include "tests/support/channels.h"

namespace telltale::model {
namespace {

using ::telltale::testing::MakeChannel;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kSecond = 1'000'000'000;

data::ChannelSet TwoChannels() {
  return *data::ChannelSet::Create(
      {MakeChannel("a", ""), MakeChannel("b", "")});
}

data::Series Empty() {
  data::Series series;
  series.channels = TwoChannels();
  return series;
}

// Noise, from the given second on.
data::Series Noise(uint64_t seed, int length, int64_t begin = 0) {
  Random random(seed);
  data::Series series = Empty();
  for (int t = 0; t < length; ++t) {
    series.time_ns.push_back((begin + t) * kSecond);
    for (int c = 0; c < 2; ++c) {
      series.samples.push_back(static_cast<float>(random.Normal()));
    }
  }
  return series;
}

data::Series Cut(const data::Series& series, int begin, int end) {
  data::Series cut = Empty();
  for (int t = begin; t < end; ++t) {
    cut.time_ns.push_back(series.time_ns[t]);
    const auto row = series.Instant(t);
    cut.samples.insert(cut.samples.end(), row.begin(), row.end());
  }
  return cut;
}

RecordingSketch SketchOf(const data::Series& series) {
  RecordingSketch sketch;
  sketch.Add(series);
  return sketch;
}

SharedInstants Compare(const RecordingSketch& sketch,
                       const data::Series& series) {
  SharedInstants shared(sketch);
  for (int t = 0; t < series.length(); ++t) {
    shared.Push(series.time_ns[t], series.Instant(t));
  }
  return shared;
}

TEST(RecordingSketch, FindsTheStretchThatTwoRecordingsShare) {
  const data::Series all = Noise(1, 3000);
  const RecordingSketch sketch = SketchOf(Cut(all, 0, 2000));

  const SharedInstants shared = Compare(sketch, Cut(all, 1500, 3000));

  ASSERT_TRUE(shared.overlap());
  EXPECT_EQ(shared.first_time_ns(), 1507 * kSecond);  // the eighth
  EXPECT_EQ(shared.last_time_ns(), 1999 * kSecond);
}

TEST(RecordingSketch, FindsAHundredthOfALongRecording) {
  const data::Series all = Noise(2, 400'000);
  const RecordingSketch sketch = SketchOf(all);
  EXPECT_THAT(sketch.Values(), SizeIs(RecordingSketch::kSize + 2));

  // Some 41 of the keys kept lie in there.
  EXPECT_TRUE(Compare(sketch, Cut(all, 200'000, 204'000)).overlap());
}

TEST(RecordingSketch, TakesOtherTelemetryOfTheSameTimeForOther) {
  const RecordingSketch sketch = SketchOf(Noise(3, 2000));

  EXPECT_FALSE(Compare(sketch, Noise(4, 2000)).overlap());
  EXPECT_FALSE(Compare(sketch, Noise(3, 2000, 1)).overlap());
}

TEST(RecordingSketch, TakesSingleEqualInstantsForChance) {
  const data::Series one = Noise(10, 2000);
  data::Series other = Noise(11, 2000);
  // Runs of six, as of switches that happen to go together.
  for (size_t t = 0; t < 2000; ++t) {
    if (t % 7 == 0) continue;
    other.samples[2 * t] = one.samples[2 * t];
    other.samples[2 * t + 1] = one.samples[2 * t + 1];
  }

  EXPECT_FALSE(Compare(SketchOf(one), other).overlap());
}

TEST(RecordingSketch, TakesStillTelemetryForNothing) {
  data::Series still = Empty();
  for (int t = 0; t < 1000; ++t) {
    still.time_ns.push_back(t * kSecond);
    still.samples.push_back(1);
    still.samples.push_back(std::numeric_limits<float>::quiet_NaN());
  }

  const RecordingSketch sketch = SketchOf(still);

  EXPECT_TRUE(sketch.empty());
  EXPECT_THAT(sketch.Values(), IsEmpty());
  EXPECT_FALSE(Compare(sketch, still).overlap());
}

TEST(RecordingSketch, OfSeveralRunsHoldsEach) {
  RecordingSketch sketch;
  sketch.Add(Noise(5, 900, 5000));
  sketch.Add(Noise(6, 900));

  EXPECT_EQ(sketch.first_time_ns(), 7 * kSecond);
  EXPECT_EQ(sketch.last_time_ns(), 5899 * kSecond);
  EXPECT_TRUE(Compare(sketch, Noise(5, 900, 5000)).overlap());
  EXPECT_TRUE(Compare(sketch, Noise(6, 900)).overlap());
}

TEST(RecordingSketch, DoesNotDependOnTheOrderOfRuns) {
  RecordingSketch one;
  one.Add(Noise(7, 40'000));
  one.Add(Noise(8, 40'000));
  RecordingSketch other;
  other.Add(Noise(8, 40'000));
  other.Add(Noise(7, 40'000));

  EXPECT_EQ(one.Values(), other.Values());
}

TEST(RecordingSketch, SurvivesAFile) {
  const data::Series series = Noise(9, 5000);
  const RecordingSketch sketch = SketchOf(series);

  const RecordingSketch read = RecordingSketch::FromValues(sketch.Values());

  EXPECT_EQ(read.Values(), sketch.Values());
  EXPECT_EQ(read.last_time_ns(), 4999 * kSecond);
  EXPECT_TRUE(Compare(read, series).overlap());
}

TEST(RecordingSketch, OfAnyValuesIsWithinItsBounds) {
  std::vector<int64_t> values(10'000);
  std::iota(values.begin(), values.end(), -5000);
  EXPECT_THAT(RecordingSketch::FromValues(values).Values(),
              SizeIs(RecordingSketch::kSize + 2));

  std::ranges::fill(values, -1);
  EXPECT_THAT(RecordingSketch::FromValues(values).Values(), SizeIs(3));
  EXPECT_TRUE(RecordingSketch::FromValues(std::span(values).first(2)).empty());
}

}  // namespace
}  // namespace telltale::model
