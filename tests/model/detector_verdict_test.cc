// A detector that was trained with labels: what it says of faults that look
// like nominal effects, and where it points.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
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

enum PlantedChannel { kReading, kBad, kGood, kIdle, kPlantedChannels };

constexpr int kSteps = 96;
constexpr int kEffect = 8;

// A command pulses and the reading rises a while later, in the same way after
// either command. After the bad one it is a fault.
struct Planted {
  data::Series series;
  PlantedChannel cause = kReading;  // the reading itself: nothing happens
  int cause_at = 0, effect_at = 0;
};

Planted Plant(uint64_t seed) {
  Random random(seed);
  Planted planted;
  data::Series& series = planted.series;
  const auto command = data::ChannelKind::kCommand;
  series.channels =
      data::ChannelSet::Create(
          {MakeChannel("reading", "V"), MakeChannel("bad", "", command),
           MakeChannel("good", "", command), MakeChannel("idle", "", command)})
          .value();
  double wander = 0;
  for (int t = 0; t < kSteps; ++t) {
    wander = 0.9 * wander + 0.2 * random.Normal();
    series.time_ns.push_back(t * kPlantCadenceNs);
    series.samples.insert(series.samples.end(),
                          {static_cast<float>(wander), 0, 0, 0});
  }
  Overwrite(series, kIdle, 40, 41, 1);
  Overwrite(series, kIdle, 75, 76, 1);
  const int64_t kind = random.Below(3);
  if (kind == 0) return planted;
  planted.cause = kind == 1 ? kGood : kBad;
  planted.cause_at = 33 + static_cast<int>(random.Below(20));
  planted.effect_at = planted.cause_at + 14 + static_cast<int>(random.Below(8));
  Overwrite(series, planted.cause, planted.cause_at, planted.cause_at + 1, 1);
  for (int t = planted.effect_at; t < planted.effect_at + kEffect; ++t) {
    series.samples[static_cast<size_t>(t) * kPlantedChannels] += 2;
  }
  return planted;
}

TrainingOptions PlantedTraining() {
  TrainingOptions options = PlantTraining();
  options.steps = 700;
  options.batch = 8;
  options.window = 0;
  options.encoder.horizons = {1, 8};
  options.encoder.layers.back().blind_heads = 0;
  return options;
}

std::unique_ptr<const Detector> TrainDetector() {
  std::vector<data::Series> segments;
  std::vector<std::vector<data::TimeRange>> faults;
  for (uint64_t seed = 0; seed < 900; ++seed) {
    const Planted planted = Plant(seed);
    segments.push_back(planted.series);
    faults.emplace_back();
    if (planted.cause != kBad) continue;
    faults.back().push_back(
        {planted.effect_at * kPlantCadenceNs,
         (planted.effect_at + kEffect - 1) * kPlantCadenceNs});
  }
  const auto labels = FaultLabels::Create(segments, faults);
  if (!labels.ok()) return nullptr;
  const auto checkpoint = Train(segments, *labels, PlantedTraining(), {});
  if (!checkpoint.ok()) return nullptr;
  const auto path = std::filesystem::temp_directory_path() /
                    ("telltale-verdict-" + std::to_string(getpid()));
  if (!checkpoint->Save(path).ok()) return nullptr;
  auto detector = Detector::Load(path);
  std::filesystem::remove(path);
  return detector.ok() ? *std::move(detector) : nullptr;
}

const Detector& PlantedDetector() {
  static const Detector* const kDetector = TrainDetector().release();
  return *kDetector;
}

std::vector<InstantScore> ScoreAlone(const data::Series& series,
                                     int window = 64) {
  const auto state = PlantedDetector().NewStream();
  return Advance(PlantedDetector(), *state, series, 0, series.length(), window);
}

// Fresh segments, of the wanted cause.
std::vector<Planted> Fresh(PlantedChannel cause, size_t count) {
  std::vector<Planted> fresh;
  for (uint64_t seed = 5'000; fresh.size() < count; ++seed) {
    Planted planted = Plant(seed);
    if (planted.cause == cause) fresh.push_back(std::move(planted));
  }
  return fresh;
}

// Of the instants of the effect, those whose verdict is above the threshold.
int CountVerdicts(const Planted& planted) {
  const auto scores = ScoreAlone(planted.series);
  int count = 0;
  for (int t = planted.effect_at; t < planted.effect_at + kEffect; ++t) {
    count += scores[static_cast<size_t>(t)].verdict.value() >
             PlantedDetector().description().verdict_threshold.value();
  }
  return count;
}

TEST(Verdict, TellsFaultsFromNominalEffectsThatLookTheSame) {
  int found = 0, mistaken = 0;
  for (const Planted& planted : Fresh(kBad, 50)) {
    found += CountVerdicts(planted) > kEffect / 2 ? 1 : 0;
  }
  for (const Planted& planted : Fresh(kGood, 50)) {
    mistaken += CountVerdicts(planted) > 0 ? 1 : 0;
  }
  EXPECT_GE(found, 47);
  EXPECT_LE(mistaken, 5);
}

TEST(Verdict, PointsBackToTheCommandThatLedToTheFault) {
  int hits = 0, named = 0, alarms = 0;
  for (const Planted& planted : Fresh(kBad, 50)) {
    const auto scores = ScoreAlone(planted.series);
    const auto at =
        static_cast<size_t>(planted.effect_at) + size_t{kEffect / 2};
    const InstantScore& score = scores[at];
    alarms += score.points_back_to.empty() ? 0 : 1;
    // The effect itself bears on the verdict too.
    const auto first = std::ranges::find_if(score.points_back_to,
                                            [&](const PointedInstant& pointed) {
                                              return pointed.lag > kEffect / 2;
                                            });
    if (first == score.points_back_to.end()) continue;
    EXPECT_EQ(first->time_ns,
              score.time_ns - int64_t{first->lag} * kPlantCadenceNs);
    const int64_t off = first->time_ns / kPlantCadenceNs - planted.cause_at;
    hits += std::abs(off) <= 1 ? 1 : 0;
    named += first->channel == kBad ? 1 : 0;
  }
  EXPECT_GE(alarms, 45);
  EXPECT_GE(hits, 40);
  EXPECT_GE(named, 40);
}

TEST(Verdict, AlarmsByItselfAndOnlyAboveItsThreshold) {
  const float threshold =
      PlantedDetector().description().verdict_threshold.value();
  int by_itself = 0;
  for (const Planted& planted : Fresh(kBad, 30)) {
    for (const InstantScore& score : ScoreAlone(planted.series)) {
      if (score.state != InstantState::kScored) {
        EXPECT_FALSE(score.verdict.has_value());
        continue;
      }
      ASSERT_TRUE(score.verdict.has_value());
      const bool by_score =
          score.score > PlantedDetector().description().threshold;
      const bool by_verdict = *score.verdict > threshold;
      EXPECT_EQ(score.anomaly, by_score || by_verdict);
      EXPECT_EQ(score.severity > Severity::kNormal, score.anomaly);
      for (const PointedInstant& pointed : score.points_back_to) {
        EXPECT_GE(pointed.lag, 1);
      }
      by_itself += by_verdict && !by_score ? 1 : 0;
    }
  }
  EXPECT_GT(by_itself, 0);
}

TEST(Verdict, DoesNotDependOnHowTheStreamWasCutOrRestored) {
  const data::Series series = Fresh(kBad, 1).front().series;
  const auto expected = Texts(ScoreAlone(series));
  for (const int window : {1, 7, 16, 96}) {
    EXPECT_EQ(Texts(ScoreAlone(series, window)), expected) << window;
  }
  const Detector& detector = PlantedDetector();
  for (const int cut : {40, 53, 70}) {
    const auto state = detector.NewStream();
    auto scores = Texts(Advance(detector, *state, series, 0, cut));
    auto restored = detector.RestoreStream(state->Save());
    ASSERT_TRUE(restored.ok()) << restored.status();
    for (const auto& text :
         Texts(Advance(detector, **restored, series, cut, kSteps))) {
      scores.push_back(text);
    }
    EXPECT_EQ(scores, expected) << cut;
  }
}

TEST(Verdict, IsRebuiltByReplay) {
  // Long enough for a stream to forget its beginning.
  data::Series series = Fresh(kBad, 1).front().series;
  while (series.length() < 1500) {
    const Planted more = Fresh(kBad, 1).front();
    const int64_t shift = series.time_ns.back() + kPlantCadenceNs;
    for (int64_t time_ns : more.series.time_ns) {
      series.time_ns.push_back(time_ns + shift);
    }
    series.samples.insert(series.samples.end(), more.series.samples.begin(),
                          more.series.samples.end());
  }
  const Detector& detector = PlantedDetector();
  const int length = series.length();
  const int begin = length - 100;
  const int replayed = begin - detector.replay_length();
  ASSERT_GT(replayed, 0);
  const auto whole = detector.NewStream();
  Advance(detector, *whole, series, 0, begin);
  const auto rebuilt = detector.NewStream(replayed);
  Advance(detector, *rebuilt, series, replayed, begin);

  const auto expected = Advance(detector, *whole, series, begin, length);
  EXPECT_EQ(Texts(Advance(detector, *rebuilt, series, begin, length)),
            Texts(expected));
  EXPECT_GT(CountAlarms(expected), 0);
}

TEST(Verdict, ChangesMostWithoutWhatItPointsBackTo) {
  const Detector& detector = PlantedDetector();
  double pointed = 0, random = 0;
  int checked = 0;
  for (const Planted& planted : Fresh(kBad, 20)) {
    const auto state = detector.NewStream();
    const auto slice = planted.series.Slice(0, kSteps);
    const StreamWindow work = {
        .state = state.get(), .window = &*slice, .with_masking = true};
    const auto result = detector.Advance({&work, 1});
    ASSERT_TRUE(result.ok()) << result.status();
    for (const InstantScore& score : result->front().instants) {
      if (!score.masking ||
          score.verdict <= detector.description().verdict_threshold) {
        continue;
      }
      pointed += score.masking->pointed;
      random += score.masking->random;
      ++checked;
    }
  }
  EXPECT_GT(checked, 40);
  EXPECT_GT(pointed, 5 * random);
}

}  // namespace
}  // namespace telltale::model
