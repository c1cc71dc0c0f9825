// A stream's state: saved, restored, rebuilt by replay.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/detector.h"
#include "model/random.h"
#include "model/training/train.h"
#include "tests/support/plant.h"
#include "tests/support/plant_detector.h"

namespace telltale::model {
namespace {

constexpr int kLength = 560;

std::string SavedAt(const data::Series& series, int end) {
  const auto state = PlantDetector().NewStream();
  Advance(PlantDetector(), *state, series, 0, end);
  return state->Save();
}

TEST(DetectorState, CountsInstantsAndKnowsTheLast) {
  const data::Series series = PlantSeries(3, 40);
  const auto state = PlantDetector().NewStream();
  EXPECT_EQ(state->instant_count(), 0);

  Advance(PlantDetector(), *state, series, 0, 40, 7);

  EXPECT_EQ(state->instant_count(), 40);
  EXPECT_EQ(state->last_time_ns(), series.time_ns.back());
}

TEST(DetectorState, RestoredItGoesOnToTheBit) {
  const data::Series series = EventfulSeries(0, kLength);
  const Detector& detector = PlantDetector();
  for (const int cut : {0, 1, 15, 16, 33, 120, 199, 345, 471}) {
    const auto state = detector.NewStream();
    Advance(detector, *state, series, 0, cut);
    auto restored = detector.RestoreStream(state->Save());
    ASSERT_TRUE(restored.ok()) << restored.status();

    EXPECT_EQ((*restored)->instant_count(), state->instant_count());
    EXPECT_EQ((*restored)->Save(), state->Save());
    const auto expected =
        Texts(Advance(detector, *state, series, cut, kLength));
    EXPECT_EQ(Texts(Advance(detector, **restored, series, cut, kLength)),
              expected)
        << "cut at " << cut;
    EXPECT_EQ((*restored)->Save(), state->Save());
  }
}

TEST(DetectorState, SavingChangesNothing) {
  const data::Series series = EventfulSeries(0, kLength);
  const Detector& detector = PlantDetector();
  const auto state = detector.NewStream();
  std::vector<InstantScore> scores;
  for (int t = 0; t < kLength; t += 20) {
    const auto more = Advance(detector, *state, series, t, t + 20);
    scores.insert(scores.end(), more.begin(), more.end());
    state->Save();
  }

  EXPECT_EQ(Texts(scores), Texts(Score(series)));
}

TEST(DetectorState, RefusesBytesCutShortOrGrown) {
  const std::string bytes = SavedAt(PlantSeries(3, 100), 100);
  for (size_t size = 0; size < bytes.size();
       size += std::max<size_t>(1, bytes.size() / 97)) {
    const auto restored =
        PlantDetector().RestoreStream(std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(restored.ok()) << size;
    EXPECT_EQ(restored.status().code(), absl::StatusCode::kDataLoss);
  }
  EXPECT_EQ(PlantDetector().RestoreStream(bytes + "x").status().code(),
            absl::StatusCode::kDataLoss);
}

TEST(DetectorState, RefusesBytesWithAnyBitFlipped) {
  const std::string bytes = SavedAt(PlantSeries(3, 100), 100);
  Random random(9);
  for (int round = 0; round < 300; ++round) {
    std::string damaged = bytes;
    const auto at = static_cast<size_t>(
        round < 100 ? round : random.Below(static_cast<int64_t>(bytes.size())));
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random.Below(8)));

    const auto restored = PlantDetector().RestoreStream(damaged);

    ASSERT_FALSE(restored.ok()) << "byte " << at;
    EXPECT_EQ(restored.status().code(), absl::StatusCode::kDataLoss);
  }
}

TEST(DetectorState, RefusesTheStateOfAnotherModel) {
  Checkpoint other = Checkpoint::FromFile(PlantCheckpoint().ToFile()).value();
  other.threshold.threshold += 1;
  const auto path = std::filesystem::path(testing::TempDir()) /
                    "telltale-other-model.safetensors";
  ASSERT_TRUE(other.Save(path).ok());
  const auto detector = Detector::Load(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(detector.ok());
  ASSERT_NE((*detector)->description().version,
            PlantDetector().description().version);

  const auto restored =
      (*detector)->RestoreStream(SavedAt(PlantSeries(3, 50), 50));

  EXPECT_EQ(restored.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(restored.status().message()),
              testing::HasSubstr("another model version"));
}

// A series in which no instant is wholly missing, so that the instants counted
// are those of the series.
data::Series CountedSeries(uint64_t seed, int length) {
  data::Series series = EventfulSeries(seed, length);
  for (int t = 0; t < length; ++t) Overwrite(series, kMode, t, t + 1, 1);
  return series;
}

// The same events twice, a thousand instants apart.
data::Series CountedTwice() {
  data::Series series = CountedSeries(0, 1000);
  const data::Series again = CountedSeries(0, 1000);
  const int64_t shift = series.time_ns.back() + kPlantCadenceNs;
  for (const int64_t time_ns : again.time_ns) {
    series.time_ns.push_back(time_ns + shift);
  }
  series.samples.insert(series.samples.end(), again.samples.begin(),
                        again.samples.end());
  return series;
}

TEST(DetectorState, ReplayOfItsLengthRebuildsScoresAndAttributions) {
  const data::Series series = CountedTwice();
  const Detector& detector = PlantDetector();
  const int replay = detector.replay_length();
  ASSERT_LT(replay, 1400);
  // From within the dense stretch, the jittered one and past them.
  for (const int cut : {1410, 1425, 1470, 1530, 1600, 1701}) {
    const auto whole = detector.NewStream();
    Advance(detector, *whole, series, 0, cut);
    const auto rebuilt = detector.NewStream(cut - replay);
    Advance(detector, *rebuilt, series, cut - replay, cut);
    ASSERT_EQ(rebuilt->instant_count(), whole->instant_count());

    const int end = std::min(2000, cut + 300);
    const auto expected = Advance(detector, *whole, series, cut, end);
    EXPECT_GE(CountAlarms(expected), 5) << "cut at " << cut;
    EXPECT_EQ(Texts(Advance(detector, *rebuilt, series, cut, end)),
              Texts(expected))
        << "cut at " << cut;
  }
}

TEST(DetectorState, ReplayIsLongEnoughForFarForecastsOfDenseSampling) {
  // Four instants a cadence, so that what is forecast 40 ahead arrives 160
  // later, and less dense from shortly before the cut on, so that alarms look
  // back into that stretch.
  constexpr int kCut = 1400;
  data::Series series = PlantSeries(8, 1800);
  int64_t time_ns = 0;
  for (int t = 0; t < 1800; ++t) {
    time_ns += t < kCut - 60 ? kPlantCadenceNs / 4 : kPlantCadenceNs * 20 / 23;
    series.time_ns[static_cast<size_t>(t)] = time_ns;
  }
  TrainingOptions options = PlantTraining();
  options.steps = 2;
  options.encoder.horizons = {1, 40};
  const data::Series nominal = PlantSeries(1, 1000);
  Checkpoint checkpoint = Train({&nominal, 1}, options, {}).value();
  checkpoint.threshold.threshold = 0.1F;  // nearly all are alarms
  const auto path = std::filesystem::path(testing::TempDir()) /
                    "telltale-far-model.safetensors";
  ASSERT_TRUE(checkpoint.Save(path).ok());
  const auto detector = Detector::Load(path).value();
  std::filesystem::remove(path);
  const int replay = detector->replay_length();
  ASSERT_LT(replay, kCut);

  const auto whole = detector->NewStream();
  Advance(*detector, *whole, series, 0, kCut);
  const auto rebuilt = detector->NewStream(kCut - replay);
  Advance(*detector, *rebuilt, series, kCut - replay, kCut);

  const auto expected = Advance(*detector, *whole, series, kCut, 1800);
  EXPECT_GT(CountAlarms(expected), 100);
  EXPECT_EQ(Texts(Advance(*detector, *rebuilt, series, kCut, 1800)),
            Texts(expected));
}

TEST(DetectorState, AShorterReplayShows) {
  const data::Series series = CountedSeries(0, 700);
  const Detector& detector = PlantDetector();
  const auto whole = detector.NewStream();
  Advance(detector, *whole, series, 0, 500);
  const auto rebuilt = detector.NewStream(450);
  Advance(detector, *rebuilt, series, 450, 500);

  EXPECT_NE(Texts(Advance(detector, *rebuilt, series, 500, 700)),
            Texts(Advance(detector, *whole, series, 500, 700)));
}

}  // namespace
}  // namespace telltale::model
