#include "model/training/verdict_sampling.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/plant.h"

namespace telltale::model {
namespace {

constexpr int kLength = 64;

// One long segment; faults of ten instants at the given places.
class VerdictSamplingTest : public testing::Test {
 protected:
  void Label(const std::vector<int>& begins) {
    std::vector<std::vector<data::TimeRange>> faults(1);
    for (int begin : begins) {
      const auto t = static_cast<size_t>(begin);
      faults[0].push_back(
          {segments_[0].time_ns[t], segments_[0].time_ns[t + 9]});
    }
    labels_ = FaultLabels::Create(segments_, faults).value();
  }

  struct Drawn {
    double showing = 0;  // share of windows that show a fault
    double fault_weight = 0, nominal_weight = 0;  // per instant, in sum
  };
  Drawn DrawMany() const {
    const VerdictSampling sampling(sampler_, labels_, training_, kLength);
    Random random(9);
    constexpr int kWindows = 20'000;
    Drawn drawn;
    for (int i = 0; i < kWindows; ++i) {
      const Range range = sampling.Draw(random);
      EXPECT_EQ(range.length(), kLength);
      EXPECT_GE(range.begin, training_[0].begin);
      EXPECT_LE(range.end, training_[0].end);
      const double faults = labels_.CountInstants(range);
      drawn.showing += faults > 0 ? 1.0 / kWindows : 0;
      drawn.fault_weight +=
          sampling.Weight(true) * faults / (1.0 * kLength * kWindows);
      drawn.nominal_weight += sampling.Weight(false) * (kLength - faults) /
                              (1.0 * kLength * kWindows);
    }
    return drawn;
  }

  const std::vector<data::Series> segments_ = {PlantSeries(1, 20'000)};
  const std::vector<Range> training_ = {{0, 100, 15'000}};
  FaultLabels labels_;
  const Scaler scaler_ = {std::vector<float>(kPlantChannels, 0.0F),
                          std::vector<float>(kPlantChannels, 1.0F)};
  const InputEncoding encoding_{segments_[0].channels, scaler_};
  const EncoderConfig config_ = {};
  const WindowSampler sampler_{segments_, kPlantCadenceNs, config_,
                               encoding_, labels_,         0};
};

TEST_F(VerdictSamplingTest, ShowsRareFaultsInAQuarterOfTheWindows) {
  // At both ends of the training range too, where a window cannot be centred.
  Label({102, 7'000, 14'985});

  const Drawn drawn = DrawMany();

  EXPECT_NEAR(drawn.showing, 0.25, 0.02);
  EXPECT_NEAR(drawn.fault_weight, 0.5, 0.05);
  EXPECT_NEAR(drawn.nominal_weight, 0.5, 0.05);
}

TEST_F(VerdictSamplingTest, LeavesFrequentFaultsAsFrequentAsTheyAre) {
  std::vector<int> begins;
  for (int t = 120; t < 14'900; t += 100) begins.push_back(t);
  Label(begins);

  const Drawn drawn = DrawMany();

  EXPECT_NEAR(drawn.showing, 0.73, 0.02);  // (64 + 9) of 100 places
  EXPECT_NEAR(drawn.fault_weight, 0.5, 0.05);
  EXPECT_NEAR(drawn.nominal_weight, 0.5, 0.05);
}

TEST_F(VerdictSamplingTest, WithoutLabelsDrawsWhatTheSamplerDraws) {
  const VerdictSampling sampling(sampler_, labels_, training_, kLength);
  Random mine(3), plain(3);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(sampling.Draw(mine).begin,
              sampler_.Draw(training_, kLength, plain).begin);
  }
  EXPECT_EQ(sampling.Weight(true), 0);
}

TEST_F(VerdictSamplingTest, HasNoUseForFaultsThatAreHeldOut) {
  Label({16'000});
  const VerdictSampling sampling(sampler_, labels_, training_, kLength);

  EXPECT_EQ(sampling.Weight(true), 0);
}

}  // namespace
}  // namespace telltale::model
