// Training with labels, and on many short segments.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/training/train.h"
#include "tests/support/plant.h"

namespace telltale::model {
namespace {

using testing::HasSubstr;

TrainingOptions QuickTraining(int steps = 30) {
  TrainingOptions options = PlantTraining();
  options.steps = steps;
  return options;
}

std::string Bytes(const Checkpoint& checkpoint) {
  return checkpoint.ToFile().Serialize().value();
}

// Ten segments of 96 instants; the tank is off the scale in a few of them, and
// labelled.
struct Labelled {
  std::vector<data::Series> segments;
  FaultLabels labels;
};

Labelled LabelledSegments() {
  Labelled labelled;
  std::vector<std::vector<data::TimeRange>> faults(10);
  for (size_t i = 0; i < 10; ++i) {
    data::Series series = PlantSeries(i, 96);
    if (i % 3 == 0) {
      Overwrite(series, kTank, 60, 70, 90);
      faults[i] = {{series.time_ns[60], series.time_ns[69]}};
    }
    labelled.segments.push_back(std::move(series));
  }
  labelled.labels = FaultLabels::Create(labelled.segments, faults).value();
  return labelled;
}

TEST(Train, LearnsAVerdictFromLabelsWhateverTheThreads) {
  const Labelled labelled = LabelledSegments();
  TrainingOptions options = QuickTraining(60);
  const Checkpoint checkpoint =
      Train(labelled.segments, labelled.labels, options, {}).value();

  EXPECT_TRUE(checkpoint.config.verdict);
  ASSERT_NE(checkpoint.parameters.Find("forecast.weight"), nullptr);
  EXPECT_EQ(checkpoint.parameters.Find("forecast.weight")->shape,
            (std::vector<int64_t>{16, 13}));
  // Chosen on what is held out.
  EXPECT_NE(checkpoint.threshold.verdict_logit, 0);
  options.threads = 3;
  EXPECT_EQ(
      Bytes(Train(labelled.segments, labelled.labels, options, {}).value()),
      Bytes(checkpoint));
  // And it comes back from its file.
  const auto read = Checkpoint::FromFile(checkpoint.ToFile());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->config.verdict);
  EXPECT_EQ(read->threshold.verdict_logit, checkpoint.threshold.verdict_logit);
}

TEST(Train, TakesLabelledFaultsForNothingNominal) {
  const Labelled labelled = LabelledSegments();
  const TrainingOptions options = QuickTraining();
  const Checkpoint with =
      Train(labelled.segments, labelled.labels, options, {}).value();
  const Checkpoint without = Train(labelled.segments, options, {}).value();

  // Ten instants of two or three held-out segments, and eight after each.
  EXPECT_EQ(without.threshold.instants - with.threshold.instants, 18);
  EXPECT_FALSE(without.config.verdict);
}

TEST(Train, ReachesAsFarAsManyShortSegmentsDo) {
  std::vector<data::Series> segments;
  for (uint64_t i = 0; i < 10; ++i) segments.push_back(PlantSeries(i, 96));
  TrainingOptions options = QuickTraining(2);
  options.encoder = EncoderConfig();
  EXPECT_EQ(Train(segments, options, {})->config.context_length(), 96);

  // Settings of the user's own stay.
  options.encoder.layers.back().reach = 100;
  EXPECT_EQ(Train(segments, options, {})->config.context_length(), 100);
  // And so does the default where there is more to see.
  options.encoder = EncoderConfig();
  segments = {PlantSeries(1, 1500)};
  EXPECT_EQ(Train(segments, options, {})->config.context_length(), 256);
}

TEST(Train, RefusesLabelsThatAreAllHeldOut) {
  const std::vector<data::Series> segments = {PlantSeries(1, 1000)};
  const auto labels =
      FaultLabels::Create(
          segments,
          std::vector<std::vector<data::TimeRange>>{
              {{segments[0].time_ns[900], segments[0].time_ns[910]}}})
          .value();

  EXPECT_THAT(
      std::string(
          Train(segments, labels, QuickTraining(), {}).status().message()),
      HasSubstr("every labelled fault lies in the part that is held "
                "out"));
}

}  // namespace
}  // namespace telltale::model
