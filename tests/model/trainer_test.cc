#include "model/training/trainer.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/training/train.h"
#include "tests/support/plant.h"

namespace telltale::model {
namespace {

using testing::HasSubstr;

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

TrainingOptions QuickTraining(int steps = 30) {
  TrainingOptions options = PlantTraining();
  options.steps = steps;
  return options;
}

absl::StatusOr<Checkpoint> TrainOn(const std::vector<data::Series>& segments,
                                   const TrainingOptions& options,
                                   const ProgressFunction& progress = {}) {
  return Train(segments, options, progress);
}

std::string Bytes(const Checkpoint& checkpoint) {
  return checkpoint.ToFile().Serialize().value();
}

std::vector<float> Weights(const Checkpoint& checkpoint) {
  const auto values = checkpoint.parameters.values();
  return {values.begin(), values.end()};
}

nlohmann::json Record(const Checkpoint& checkpoint) {
  return nlohmann::json::parse(checkpoint.training_record);
}

TEST(Train, GivesTheSameBitsForTheSameSeedWhateverTheThreads) {
  const std::vector<data::Series> segments = {PlantSeries(1, 1500)};
  TrainingOptions options = QuickTraining();
  const std::string expected = Bytes(TrainOn(segments, options).value());

  for (const int threads : {1, 2, 3, 7}) {
    options.threads = threads;
    EXPECT_EQ(Bytes(TrainOn(segments, options).value()), expected) << threads;
  }
}

TEST(Train, GivesOtherParametersForAnotherSeed) {
  const std::vector<data::Series> segments = {PlantSeries(1, 1500)};
  TrainingOptions options = QuickTraining();
  const auto first = Weights(TrainOn(segments, options).value());
  options.seed = 2;

  EXPECT_NE(Weights(TrainOn(segments, options).value()), first);
}

TEST(Train, RemembersWhatTelemetryItWasGiven) {
  const std::vector<data::Series> segments = {PlantSeries(1, 1500),
                                              PlantSeries(2, 900)};

  const auto checkpoint = TrainOn(segments, QuickTraining());

  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  for (const data::Series& series : segments) {
    SharedInstants shared(checkpoint->instants);
    // The held-out part too: thresholds were set on it.
    for (int t = series.length() - 100; t < series.length(); ++t) {
      shared.Push(series.time_ns[static_cast<size_t>(t)], series.Instant(t));
    }
    EXPECT_TRUE(shared.overlap());
  }
  const nlohmann::json record = Record(*checkpoint);
  EXPECT_EQ(record["first_time_ns"], segments[0].time_ns.front());
  EXPECT_EQ(record["last_time_ns"], segments[0].time_ns.back());
}

TEST(Train, LearnsWhatCanBeLearnt) {
  const std::vector<data::Series> segments = {PlantSeries(1, 6000)};
  std::vector<TrainingProgress> reports;
  const auto checkpoint =
      TrainOn(segments, PlantTraining(), [&](const TrainingProgress& report) {
        reports.push_back(report);
        return true;
      });
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();

  ASSERT_EQ(reports.size(), 120);
  double first_held_out = 0;
  for (const TrainingProgress& report : reports) {
    if (first_held_out == 0 && !std::isnan(report.held_out_loss)) {
      first_held_out = report.held_out_loss;
    }
    EXPECT_EQ(report.steps, 120);
    EXPECT_TRUE(std::isfinite(report.loss));
    EXPECT_GT(report.instants_per_second, 0);
    EXPECT_GE(report.seconds_left, 0);
  }
  EXPECT_LT(reports.back().loss, 0.85 * reports.front().loss);
  EXPECT_LT(reports.back().held_out_loss, 0.85 * first_held_out);
  // The channels have about unit variance: better than any constant.
  EXPECT_LT(reports.back().held_out_loss, 0.8);
}

TEST(Train, StoppedAtOnceHasNothingToKeep) {
  const std::vector<data::Series> segments = {PlantSeries(1, 1500)};
  const auto checkpoint =
      TrainOn(segments, QuickTraining(100),
              [](const TrainingProgress&) { return false; });

  EXPECT_EQ(checkpoint.status().code(), absl::StatusCode::kCancelled);
}

TEST(Train, StoppedLaterKeepsTheBestSoFar) {
  const std::vector<data::Series> segments = {PlantSeries(1, 1500)};
  const auto stop_at = [&](int step) {
    return TrainOn(segments, QuickTraining(100),
                   [step](const TrainingProgress& report) {
                     return report.step < step;
                   })
        .value();
  };
  const Checkpoint stopped = stop_at(31);
  EXPECT_EQ(Record(stopped)["steps"], 31);
  EXPECT_EQ(Record(stopped)["stopped_early"], true);
  const int best = Record(stopped)["best_step"];
  ASSERT_GT(best, 0);
  ASSERT_LE(best, 28);  // the last of the evaluations, each fourth step

  EXPECT_EQ(Weights(stop_at(best)), Weights(stopped));
}

TEST(Train, NeverTrainsOnTheHeldOutPart) {
  // Stopped at its first evaluation, training keeps the parameters of that
  // step, whatever the held-out loss says: only what it trained on can differ.
  const auto weights = [](const data::Series& series) {
    std::vector<data::Series> segments = {series};
    return Weights(TrainOn(segments, QuickTraining(600),
                           [](const TrainingProgress& report) {
                             return std::isnan(report.held_out_loss);
                           })
                       .value());
  };
  const data::Series series = PlantSeries(1, 1000);
  constexpr int kSplit = 750;
  const auto expected = weights(series);

  data::Series perturbed = series;
  for (int c = 0; c < kValve; ++c) {
    Overwrite(perturbed, c, kSplit, 1000, 1e4F);
  }
  Overwrite(perturbed, kValve, kSplit, 1000, 77);
  EXPECT_EQ(weights(perturbed), expected);

  // While the last instant before them does count: it is a target.
  data::Series known = series;
  Overwrite(known, kInlet, kSplit - 20, kSplit, 150);
  EXPECT_NE(weights(known), expected);
}

TEST(Train, TakesNoTargetFromTheHeldOutPartHoweverDenseItIs) {
  const auto weights = [](const data::Series& series) {
    std::vector<data::Series> segments = {series};
    return Weights(TrainOn(segments, QuickTraining(600),
                           [](const TrainingProgress& report) {
                             return std::isnan(report.held_out_loss);
                           })
                       .value());
  };
  // Around the split there are five instants to a cadence, so that a forecast
  // reaches forty of them ahead.
  data::Series series = PlantSeries(1, 1000);
  int64_t time_ns = 0;
  for (int t = 0; t < 1000; ++t) {
    const bool dense = 700 <= t && t < 780;
    time_ns += dense ? kPlantCadenceNs / 5 : kPlantCadenceNs;
    series.time_ns[static_cast<size_t>(t)] = time_ns;
  }
  data::Series perturbed = series;
  for (int c = 0; c < kValve; ++c) {
    Overwrite(perturbed, c, 750, 1000, 1e4F);
  }

  EXPECT_EQ(weights(perturbed), weights(series));
}

TEST(Train, CopesWithMissingSamples) {
  data::Series series = PlantSeries(1, 2000);
  Random random(3);
  for (float& x : series.samples) {
    if (random.Uniform() < 0.3) x = kMissing;
  }
  Overwrite(series, kOutlet, 300, 900, kMissing);  // long silence
  for (int c = 0; c < kPlantChannels; ++c) {
    Overwrite(series, c, 1000, 1010, kMissing);  // instants without a sample
  }
  const auto checkpoint = TrainOn({series}, QuickTraining(60));
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();

  for (const float value : checkpoint->parameters.values()) {
    ASSERT_TRUE(std::isfinite(value));
  }
  EXPECT_TRUE(std::isfinite(checkpoint->threshold.threshold));
  // Stand-ins have been learnt.
  EXPECT_NE(checkpoint->parameters.stand_in()[0], 0);
}

TEST(Train, CopesWithAChannelThatIsNeverThere) {
  data::Series series = PlantSeries(1, 1500);
  Overwrite(series, kTank, 0, 1500, kMissing);
  const auto checkpoint = TrainOn({series}, QuickTraining());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();

  EXPECT_TRUE(checkpoint->ToFile().Serialize().ok());
}

TEST(Train, TakesSegmentsOfDifferentTimes) {
  data::Series earlier = PlantSeries(2, 800);
  for (int64_t& time_ns : earlier.time_ns) time_ns -= 1'000'000'000'000'000;
  const auto checkpoint =
      TrainOn({PlantSeries(1, 800), earlier}, QuickTraining());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();

  EXPECT_EQ(Record(*checkpoint)["segments"], 2);
  EXPECT_EQ(Record(*checkpoint)["instants"], 1600);
  // Both held-out quarters count, less the first instants' missing forecasts.
  EXPECT_EQ(checkpoint->threshold.instants, 400);
}

TEST(Train, RecordsWhatItDid) {
  const data::Series series = PlantSeries(1, 1500);
  TrainingOptions options = QuickTraining();
  options.seed = 42;
  options.evidence.slow = false;
  const Checkpoint checkpoint = TrainOn({series}, options).value();

  const nlohmann::json record = Record(checkpoint);
  EXPECT_EQ(record["seed"], 42);
  EXPECT_EQ(record["steps"], 30);
  EXPECT_EQ(record["evidence_left_out"], nlohmann::json({"slow"}));
  EXPECT_EQ(record["instants"], 1500);
  EXPECT_EQ(record["first_time_ns"], series.time_ns.front());
  EXPECT_EQ(record["last_time_ns"], series.time_ns.back());
  EXPECT_THAT(record["data_sha256"].get<std::string>(),
              testing::MatchesRegex("[0-9a-f]{64}"));
  EXPECT_EQ(checkpoint.cadence_ns, kPlantCadenceNs);
  EXPECT_EQ(checkpoint.config.targets, 4);
  EXPECT_EQ(checkpoint.config.input_width, 4 * 2 + 2 + 4);
}

TEST(Train, RefusesWhatItCannotTrainOn) {
  const auto message = [](const std::vector<data::Series>& segments,
                          const TrainingOptions& options) {
    const auto checkpoint = TrainOn(segments, options);
    EXPECT_EQ(checkpoint.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(checkpoint.status().message());
  };
  EXPECT_THAT(message({}, QuickTraining()), HasSubstr("no telemetry"));

  data::Series renamed = PlantSeries(2, 500);
  std::vector<data::Channel> channels = renamed.channels.channels();
  channels[1].unit = "psi";
  renamed.channels = data::ChannelSet::Create(channels).value();
  EXPECT_THAT(message({PlantSeries(1, 500), renamed}, QuickTraining()),
              HasSubstr("segment 1 has other channels"));

  EXPECT_THAT(message({PlantSeries(1, 199)}, QuickTraining()),
              HasSubstr("199 instants in all; training needs 200"));
  EXPECT_THAT(
      message({PlantSeries(1, 400), PlantSeries(2, 63)}, QuickTraining()),
      HasSubstr("segment 1 has 63 instants; training needs 64"));

  data::Series commands;
  commands.channels =
      data::ChannelSet::Create(
          {MakeChannel("valve", "%", data::ChannelKind::kCommand)})
          .value();
  for (int t = 0; t < 300; ++t) {
    commands.time_ns.push_back(t * kPlantCadenceNs);
    commands.samples.push_back(0);
  }
  EXPECT_THAT(message({commands}, QuickTraining()),
              HasSubstr("none of the channels is continuous"));

  data::Series half = PlantSeries(1, 400);
  for (int c = 0; c < kValve; ++c) Overwrite(half, c, 290, 400, kMissing);
  EXPECT_THAT(message({half}, QuickTraining()),
              HasSubstr("the held-out telemetry has no samples"));
}

TEST(Train, RefusesSettingsThatMakeNoSense) {
  const auto message = [](const TrainingOptions& options) {
    const auto checkpoint = TrainOn({PlantSeries(1, 300)}, options);
    EXPECT_EQ(checkpoint.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(checkpoint.status().message());
  };
  TrainingOptions options = QuickTraining();
  options.false_alarms_per_10k = 0;
  EXPECT_THAT(message(options), HasSubstr("false_alarms_per_10k is 0"));

  options = QuickTraining();
  options.held_out = 1;
  EXPECT_THAT(message(options), HasSubstr("held_out is 1"));
  options.held_out = 0.9;
  EXPECT_THAT(message(options), HasSubstr("leaves 22 instants to train on"));

  options = QuickTraining();
  options.batch = 0;
  EXPECT_THAT(message(options), HasSubstr("batch is 0"));

  options = QuickTraining();
  options.learning_rate = std::nan("");
  EXPECT_THAT(message(options), HasSubstr("learning_rate is nan"));

  options = QuickTraining();
  options.evidence = {.magnitude = false,
                      .average = false,
                      .absence = false,
                      .level = false,
                      .slow = false,
                      .novelty = false};
  EXPECT_THAT(message(options), HasSubstr("keep at least one of magnitude"));

  options = QuickTraining();
  options.encoder.horizons = {};
  EXPECT_THAT(message(options), HasSubstr("horizons"));
  options.encoder.horizons = {1, 200};
  EXPECT_THAT(message(options), HasSubstr("instants to train on"));
}

TEST(Train, NeverKeepsParametersThatHaveDiverged) {
  TrainingOptions options = QuickTraining();
  options.learning_rate = 1e30;
  const auto checkpoint = TrainOn({PlantSeries(1, 500)}, options);

  ASSERT_FALSE(checkpoint.ok());
  EXPECT_THAT(std::string(checkpoint.status().message()),
              HasSubstr("the learning rate of 1e+30 is too high"));
}

TEST(Trainer, ResidualsAreThoseOfAStreamThatStartsThere) {
  const std::vector<data::Series> segments = {PlantSeries(1, 500),
                                              PlantSeries(2, 500)};
  TrainingOptions options = QuickTraining();
  Checkpoint checkpoint = TrainOn(segments, options).value();
  const FaultLabels unlabelled;
  Trainer trainer(segments, unlabelled, options, checkpoint);

  const Matrix residuals = trainer.Residuals({1, 100, 300}).residuals;

  ASSERT_EQ(residuals.rows(), 200);
  ASSERT_EQ(residuals.columns(), 12);
  // Nothing was forecast before the range began.
  for (int64_t t = 0; t < 200; ++t) {
    EXPECT_EQ(std::isnan(residuals.Row(t)[0]), t < 1);
    EXPECT_EQ(std::isnan(residuals.Row(t)[4]), t < 4);
    EXPECT_EQ(std::isnan(residuals.Row(t)[8]), t < 8);
  }
  // And what lies before it, or in another segment, changes nothing.
  std::vector<data::Series> others = segments;
  Overwrite(others[0], kInlet, 0, 500, 0);
  Overwrite(others[1], kInlet, 0, 100, 0);
  Overwrite(others[1], kInlet, 300, 500, 0);
  Trainer other(others, unlabelled, options, checkpoint);
  const Matrix again = other.Residuals({1, 100, 300}).residuals;
  for (size_t i = 0; i < again.floats().size(); ++i) {
    const float x = residuals.floats()[i];
    ASSERT_TRUE(again.floats()[i] == x || std::isnan(x));
  }
}

}  // namespace
}  // namespace telltale::model
