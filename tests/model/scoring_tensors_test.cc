#include "model/checkpoint/scoring_tensors.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/random.h"
#include "model/scoring/calibration.h"

namespace telltale::model {
namespace {

EncoderConfig TwoChannels() {
  EncoderConfig config;
  config.input_width = 4;
  config.targets = 2;
  config.horizons = {1, 4};
  return config;
}

// One channel forecast well, one hardly.
Scoring Calibrated() {
  Random random(1);
  SegmentResiduals segment;
  segment.residuals.Resize(1'000, 4);
  segment.samples.Resize(1'000, 2);
  segment.held_out_begin = 500;
  for (int64_t t = 0; t < 1'000; ++t) {
    for (int i = 0; i < 4; ++i) {
      segment.residuals.Row(t)[i] =
          static_cast<float>((i % 2 == 0 ? 0.1 : 2) * random.Normal());
    }
    segment.samples.Row(t)[0] = static_cast<float>(random.Normal());
    segment.samples.Row(t)[1] = static_cast<float>(t % 20) / 20;
  }
  Checkpoint checkpoint{.channels = {},
                        .config = TwoChannels(),
                        .parameters = Parameters(TwoChannels(), 2)};
  Calibrate({&segment, 1}, 5, checkpoint);
  return checkpoint.scoring;
}

void ExpectSameCurves(const std::vector<TailCurve>& found,
                      const std::vector<TailCurve>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(found[i].values(), expected[i].values()) << i;
  }
}

TEST(ScoringTensors, AreReadAsTheyWereStored) {
  const Scoring stored = Calibrated();
  TensorFile file;
  StoreScoring(stored, file);

  const auto read = ReadScoring(file, TwoChannels());

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->residuals.horizons, stored.residuals.horizons);
  EXPECT_EQ(read->residuals.targets, stored.residuals.targets);
  EXPECT_EQ(read->residuals.reference, stored.residuals.reference);
  EXPECT_EQ(read->residuals.deviation, stored.residuals.deviation);
  EXPECT_EQ(read->residuals.mixing, stored.residuals.mixing);
  EXPECT_EQ(read->novelty.weight, stored.novelty.weight);
  ASSERT_GT(stored.novelty.weight[1], 0);
  ASSERT_EQ(read->novelty.banks.size(), 2);
  for (size_t c = 0; c < 2; ++c) {
    EXPECT_EQ(read->novelty.banks[c].floats(),
              stored.novelty.banks[c].floats());
  }
  ExpectSameCurves(read->curves, stored.curves);
  ExpectSameCurves(read->lagged_curves, stored.lagged_curves);
}

TEST(ScoringTensors, ABankThatIsMissingOrTooLargeIsRefused) {
  TensorFile file;
  StoreScoring(Calibrated(), file);
  file.tensors["scoring.bank.1"].shape = {16, 300};
  EXPECT_EQ(ReadScoring(file, TwoChannels()).status().code(),
            absl::StatusCode::kDataLoss);
  file.tensors.erase("scoring.bank.1");
  const auto missing = ReadScoring(file, TwoChannels());
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(missing.status().message()),
              testing::HasSubstr("scoring.bank.1"));
}

TEST(ScoringTensors, ANegativeWeightIsRefused) {
  TensorFile file;
  StoreScoring(Calibrated(), file);
  file.tensors["scoring.novelty_weight"].values[0] = -1;

  EXPECT_EQ(ReadScoring(file, TwoChannels()).status().code(),
            absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace telltale::model
