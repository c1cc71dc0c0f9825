// What a detector promises of its file and of each verdict.

#include "model/detector.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/scoring/verdict.h"
#include "tests/support/plant.h"
#include "tests/support/plant_detector.h"

namespace telltale::model {
namespace {

using testing::HasSubstr;

constexpr int kLength = 560;

const std::vector<InstantScore>& EventfulScores() {
  static const auto* const kScores =
      new std::vector<InstantScore>(Score(EventfulSeries(0, kLength)));
  return *kScores;
}

TEST(Detector, DescribesItsModel) {
  const ModelDescription& description = PlantDetector().description();
  const Checkpoint& checkpoint = PlantCheckpoint();

  EXPECT_THAT(description.name, testing::StartsWith("telltale-plant-"));
  EXPECT_THAT(description.version, testing::MatchesRegex("[0-9a-f]{64}"));
  EXPECT_EQ(description.channels, PlantSeries(1, 2).channels);
  EXPECT_EQ(description.cadence_ns, kPlantCadenceNs);
  EXPECT_EQ(description.context_length, 64);
  EXPECT_THAT(description.horizons, testing::ElementsAre(1, 4, 8));
  EXPECT_EQ(description.layer_count, 2);
  EXPECT_EQ(description.head_count, 2);
  int64_t parameters = 0;
  for (const NamedTensor& tensor : checkpoint.parameters.tensors()) {
    parameters += static_cast<int64_t>(tensor.size);
  }
  EXPECT_EQ(description.parameter_count, parameters);
  EXPECT_EQ(description.threshold, checkpoint.threshold.threshold);
  EXPECT_EQ(description.false_alarms_per_10k, 40);
  EXPECT_THAT(description.training_record, HasSubstr("\"seed\":1"));
}

TEST(Detector, InBfloat16ItIsAnotherVersionWithMuchTheSameScores) {
  if (!IsSupported(Precision::kBfloat16)) {
    GTEST_SKIP() << "this processor has no bf16";
  }
  const auto path = std::filesystem::path(testing::TempDir()) /
                    "telltale-model-in-bfloat16.safetensors";
  ASSERT_TRUE(PlantCheckpoint().Save(path).ok());
  const auto exact = Detector::Load(path).value();
  const auto rounded = Detector::Load(path, Precision::kBfloat16).value();
  std::filesystem::remove(path);

  EXPECT_EQ(exact->description().precision, Precision::kFloat32);
  EXPECT_EQ(rounded->description().precision, Precision::kBfloat16);
  EXPECT_EQ(rounded->description().version,
            exact->description().version + "-bf16");

  const data::Series series = EventfulSeries(0, kLength);
  const auto exact_state = exact->NewStream();
  const auto rounded_state = rounded->NewStream();
  const auto expected = Advance(*exact, *exact_state, series, 0, kLength);
  const auto found = Advance(*rounded, *rounded_state, series, 0, kLength);
  int differing = 0;
  int disputed = 0;
  for (size_t t = 0; t < expected.size(); ++t) {
    EXPECT_NEAR(found[t].score, expected[t].score,
                0.2 + 0.1 * expected[t].score);
    differing += found[t].score != expected[t].score ? 1 : 0;
    disputed += found[t].anomaly != expected[t].anomaly ? 1 : 0;
  }
  EXPECT_GT(differing, 100);
  EXPECT_LE(disputed, 5);
  // Neither goes on from where the other was.
  EXPECT_EQ(rounded->RestoreStream(exact_state->Save()).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST(Detector, SaysThatAFileIsNotThere) {
  const auto detector = Detector::Load("/nowhere/at-all.safetensors");

  ASSERT_FALSE(detector.ok());
  EXPECT_EQ(detector.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(detector.status().message()),
              HasSubstr("/nowhere/at-all.safetensors"));
}

TEST(Detector, NamesTheFileThatItCannotRead) {
  const auto path = std::filesystem::path(testing::TempDir()) /
                    "telltale-unreadable-model.safetensors";
  TensorFile file = PlantCheckpoint().ToFile();
  file.metadata["format_version"] = "1";
  ASSERT_TRUE(file.Write(path).ok());
  const absl::Status other_version = Detector::Load(path).status();
  std::filesystem::resize_file(path, 1000);
  const absl::Status cut_short = Detector::Load(path).status();
  std::filesystem::remove(path);

  EXPECT_EQ(other_version.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(cut_short.code(), absl::StatusCode::kDataLoss);
  for (const absl::Status& status : {other_version, cut_short}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(path.string()));
  }
}

// A model that loses its mind where the tank's sample is missing.
std::unique_ptr<const Detector> FragileDetector() {
  TensorFile file = PlantCheckpoint().ToFile();
  StoredTensor& weight = file.tensors["stem.linear.weight"];
  const auto width = static_cast<size_t>(weight.shape[1]);
  constexpr size_t kTankIndicator = 5;
  constexpr size_t kInputs = 14;
  for (size_t row = kTankIndicator; row < static_cast<size_t>(weight.shape[0]);
       row += kInputs) {
    for (size_t i = 0; i < width; ++i) weight.values[row * width + i] = 3e38F;
  }
  const auto path = std::filesystem::path(testing::TempDir()) /
                    "telltale-fragile-model.safetensors";
  EXPECT_TRUE(file.Write(path).ok());
  auto detector = Detector::Load(path).value();
  std::filesystem::remove(path);
  return detector;
}

TEST(Detector, ReportsAForecastThatIsNotFiniteAndRecovers) {
  const auto detector = FragileDetector();
  const data::Series series = PlantSeries(63, 200);
  const auto untouched = detector->NewStream();
  const auto expected = Advance(*detector, *untouched, series, 0, 200, 20);
  data::Series holed = series;
  Overwrite(holed, kTank, 100, 101, std::nanf(""));
  const auto ruined = detector->NewStream();
  Advance(*detector, *ruined, holed, 0, 90);
  const data::Window window = holed.Slice(90, 110).value();
  const StreamWindow work = {ruined.get(), &window};

  const auto results = detector->Advance({&work, 1});

  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(results.status().message()),
              HasSubstr("of a stream is not finite"));
  // Nothing of it is left for the next stream.
  const auto fresh = detector->NewStream();
  EXPECT_EQ(Texts(Advance(*detector, *fresh, series, 0, 200, 20)),
            Texts(expected));
}

TEST(Detector, GivesEachInstantOneVerdictInOrderOfTime) {
  const data::Series series = EventfulSeries(0, kLength);
  ASSERT_EQ(EventfulScores().size(), series.time_ns.size());
  for (size_t t = 0; t < series.time_ns.size(); ++t) {
    EXPECT_EQ(EventfulScores()[t].time_ns, series.time_ns[t]);
  }
}

TEST(Detector, ScoreThresholdProbabilityAndSeverityAgree) {
  const float threshold = PlantDetector().description().threshold;
  for (const InstantScore& score : EventfulScores()) {
    EXPECT_GE(score.score, 0);
    EXPECT_EQ(score.anomaly, score.score > threshold);
    EXPECT_EQ(score.severity, SeverityOf(score.score, threshold));
    EXPECT_NEAR(score.probability, 1 - std::pow(10.0, -score.score), 1e-6);
    EXPECT_LE(score.probability, 1);
    if (score.state != InstantState::kScored) {
      EXPECT_EQ(score.score, 0);
    }
  }
}

TEST(Detector, SharesOfAnAlarmAddUpToOneLargestFirst) {
  int alarms = 0;
  for (const InstantScore& score : EventfulScores()) {
    if (!score.anomaly) continue;
    ++alarms;
    float sum = 0;
    float last = 1;
    std::vector<int> channels;
    for (const Contribution& c : score.contributions) {
      sum += c.share;
      EXPECT_LE(c.share, last);
      EXPECT_GE(c.share, 0);
      last = c.share;
      channels.push_back(c.channel);
    }
    EXPECT_NEAR(sum, 1, 1e-5);
    // Every continuous channel whose sample is there, each once.
    EXPECT_THAT(channels, testing::Each(testing::Lt(kValve)));
    std::ranges::sort(channels);
    EXPECT_TRUE(std::ranges::adjacent_find(channels) == channels.end());
  }
  EXPECT_GE(alarms, 20);
}

TEST(Detector, NamesOneChannelWithoutAnAlarm) {
  for (const InstantScore& score : EventfulScores()) {
    if (score.state != InstantState::kScored) {
      EXPECT_TRUE(score.contributions.empty());
    } else if (!score.anomaly) {
      EXPECT_EQ(score.contributions.size(), 1);
    }
  }
}

TEST(Detector, TellsWhatWasObserved) {
  const data::Series series = EventfulSeries(0, kLength);
  for (size_t t = 0; t < EventfulScores().size(); ++t) {
    const auto instant = series.Instant(static_cast<int>(t));
    for (const Contribution& c : EventfulScores()[t].contributions) {
      EXPECT_EQ(c.observed, instant[static_cast<size_t>(c.channel)]);
      EXPECT_TRUE(std::isfinite(c.expected));
    }
  }
}

TEST(Detector, ExpectsWhatNominalChannelsDo) {
  // Over quiet telemetry the forecast is better than the channel's mean.
  const data::Series series = PlantSeries(60, 2000);
  const auto scores = Score(series);
  double error = 0;
  double spread = 0;
  for (size_t t = 100; t < scores.size(); ++t) {
    for (const Contribution& c : scores[t].contributions) {
      if (c.channel != kTank) continue;
      error += std::abs(c.observed - c.expected);
      spread += std::abs(c.observed - 52);
    }
  }
  EXPECT_LT(error, 0.8 * spread);
}

TEST(Detector, PointsBackToFiveOrMoreDistinctEarlierInstants) {
  const data::Series series = EventfulSeries(0, kLength);
  int alarms = 0;
  for (size_t t = 0; t < EventfulScores().size(); ++t) {
    const InstantScore& score = EventfulScores()[t];
    if (!score.anomaly) {
      EXPECT_TRUE(score.points_back_to.empty());
      continue;
    }
    if (t < 100) continue;  // too little past for so many
    ++alarms;
    EXPECT_GE(score.points_back_to.size(), 5) << "at " << t;
    float last = 1;
    for (const PointedInstant& p : score.points_back_to) {
      EXPECT_LE(p.weight, last);
      EXPECT_GE(p.weight, 0);
      last = p.weight;
      EXPECT_GT(p.lag, 0);
      EXPECT_EQ(p.lag_seconds,
                static_cast<double>(score.time_ns - p.time_ns) * 1e-9);
      EXPECT_TRUE(0 <= p.channel && p.channel < kValve);
      for (const PointedInstant& q : score.points_back_to) {
        EXPECT_TRUE(&p == &q || std::abs(p.lag - q.lag) >= 6);
      }
    }
  }
  EXPECT_GE(alarms, 20);
}

TEST(Detector, CountsLagsInInstantsThatHadSamples) {
  const data::Series series = EventfulSeries(0, kLength);
  // The instants that the stream kept, and each one's place among them.
  std::vector<int64_t> kept;
  std::map<int64_t, int> place;
  for (int t = 0; t < kLength; ++t) {
    const auto instant = series.Instant(t);
    if (std::ranges::all_of(instant, [](float x) { return std::isnan(x); })) {
      continue;
    }
    const int64_t time_ns = series.time_ns[static_cast<size_t>(t)];
    place[time_ns] = static_cast<int>(kept.size());
    kept.push_back(time_ns);
  }
  for (const InstantScore& score : EventfulScores()) {
    for (const PointedInstant& p : score.points_back_to) {
      EXPECT_EQ(p.time_ns,
                kept[static_cast<size_t>(place.at(score.time_ns) - p.lag)]);
    }
  }
}

TEST(Detector, PointsBackToTheCauseOfAnEffectThatDoesNotCome) {
  data::Series series = PlantSeries(61, 400);
  // One deep dip in a calm stretch, and an outlet that does not follow.
  Overwrite(series, kInlet, 200, 206, 150);
  Overwrite(series, kOutlet, 208, 222, 80);
  const auto scores = Score(series);

  int alarms = 0;
  int found = 0;
  for (size_t t = 212; t < 220; ++t) {
    if (!scores[t].anomaly) continue;
    ++alarms;
    const int cause = static_cast<int>(t) - scores[t].points_back_to[0].lag;
    found += 197 <= cause && cause <= 208 ? 1 : 0;
  }
  ASSERT_GE(alarms, 3);
  EXPECT_GT(2 * found, alarms);
}

TEST(Detector, AnswersAnEmptyCall) {
  const auto results = PlantDetector().Advance({});

  ASSERT_TRUE(results.ok());
  EXPECT_TRUE(results->empty());
}

}  // namespace
}  // namespace telltale::model
