#include "model/input_encoding.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/encoder.h"
#include "model/random.h"
#include "tests/support/plant.h"

namespace telltale::model {
namespace {

using testing::ElementsAre;

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

// A pressure, a mode, a valve command, a temperature.
data::ChannelSet MixedChannels() {
  data::Channel mode = MakeChannel("mode", "", data::ChannelKind::kDiscrete);
  mode.vocabulary = {{0, "off"}, {2, "idle"}, {5, "run"}};
  return data::ChannelSet::Create(
             {MakeChannel("pressure", "kPa"), mode,
              MakeChannel("valve", "%", data::ChannelKind::kCommand),
              MakeChannel("temperature", "K")})
      .value();
}

class InputEncodingTest : public testing::Test {
 protected:
  std::vector<float> Encode(const std::vector<float>& samples) const {
    std::vector<float> columns(static_cast<size_t>(encoding_.width()), -99);
    encoding_.Encode(samples, stand_in_.data(), columns.data());
    return columns;
  }

  const data::ChannelSet channels_ = MixedChannels();
  const Scaler scaler_ = {{100, 0, 0, 300}, {10, 1, 50, 4}};
  const InputEncoding encoding_{channels_, scaler_};
  const std::vector<float> stand_in_ = {0.25F, -0.5F, 0.75F};
};

TEST_F(InputEncodingTest, GivesEachChannelItsColumns) {
  EXPECT_EQ(encoding_.width(), 2 + 4 + 2 + 2);
  EXPECT_EQ(encoding_.stand_ins(), 3);
  EXPECT_THAT(encoding_.targets(), ElementsAre(0, 3));
  //                                    pressure  off idle run ?  valve  temp.
  EXPECT_THAT(Encode({120, 2, 25, 298}),
              ElementsAre(2, 0, 0, 1, 0, 0, 0.5F, 0, -0.5F, 0));
}

TEST_F(InputEncodingTest, PutsTheStandInWhereASampleIsMissingAndSaysSo) {
  EXPECT_THAT(Encode({kMissing, kMissing, kMissing, kMissing}),
              ElementsAre(0.25F, 1, 0, 0, 0, 1, -0.5F, 1, 0.75F, 1));
}

TEST_F(InputEncodingTest, TellsAMissingSampleFromTheSameValueMeasured) {
  // A measured 102.5 scales to the stand-in; only the indicator differs.
  const std::vector<float> measured = Encode({102.5F, 0, 0, 300});
  const std::vector<float> missing = Encode({kMissing, 0, 0, 300});

  EXPECT_EQ(measured[0], missing[0]);
  EXPECT_EQ(measured[1], 0);
  EXPECT_EQ(missing[1], 1);
}

TEST_F(InputEncodingTest, LeavesAnUnknownCodeWithoutAColumn) {
  // Neither a symbol of the vocabulary nor missing.
  EXPECT_THAT(Encode({100, 3, 0, 300}),
              ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST_F(InputEncodingTest, ClampsWhatGoesInButNotWhatIsForecast) {
  const std::vector<float> samples = {1e30F, 0, -1e30F, -1e6F};

  const std::vector<float> columns = Encode(samples);
  EXPECT_EQ(columns[0], InputEncoding::kMaxInput);
  EXPECT_EQ(columns[6], -InputEncoding::kMaxInput);
  EXPECT_EQ(columns[8], -InputEncoding::kMaxInput);

  std::vector<float> scaled(2);
  encoding_.ScaleTargets(samples, scaled);
  EXPECT_FLOAT_EQ(scaled[0], 1e29F);
  EXPECT_FLOAT_EQ(scaled[1], (-1e6F - 300) / 4);
}

TEST_F(InputEncodingTest, PerturbsTheMeasuredValuesOfContinuousChannelsAlone) {
  const std::vector<float> before = Encode({kMissing, 2, 25, 298});
  std::vector<float> after = before;
  Random random(1);

  encoding_.Perturb(0.1, random, after.data());

  for (size_t column = 0; column < before.size(); ++column) {
    if (column == 8) {
      EXPECT_NE(after[column], before[column]);
      EXPECT_NEAR(after[column], before[column], 0.6);
    } else {
      EXPECT_EQ(after[column], before[column]) << column;
    }
  }
}

TEST_F(InputEncodingTest, ScalesTargetsAndKeepsTheirGaps) {
  std::vector<float> scaled(2);
  encoding_.ScaleTargets(std::vector<float>{kMissing, 2, 0, 308}, scaled);

  EXPECT_TRUE(std::isnan(scaled[0]));
  EXPECT_EQ(scaled[1], 2);
}

TEST_F(InputEncodingTest, AddsGradientsToTheStandInsOfMissingSamplesAlone) {
  const std::vector<float> columns = Encode({kMissing, 2, 25, kMissing});
  const std::vector<float> dcolumns = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  std::vector<float> dstand_in = {100, 200, 300};

  encoding_.AddGradients(columns.data(), dcolumns.data(), dstand_in.data());

  EXPECT_THAT(dstand_in, ElementsAre(101, 200, 309));
}

// The loss of a small encoder over a series with gaps, as a function of the
// stand-ins; differences of it must be what Backward and AddGradients say.
class StandInGradients : public InputEncodingTest {
 protected:
  static constexpr int kInstants = 24;

  StandInGradients() {
    config_.input_width = encoding_.width();
    config_.targets = 2;
    config_.width = 16;
    config_.heads = 2;
    config_.query_width = 8;
    config_.value_width = 8;
    config_.feed_forward = 16;
    config_.stem_taps = 3;
    config_.stem_hidden = 12;
    config_.horizons = {1, 4};
    config_.layers = {{.reach = 6},
                      {.key_source = KeySource::kStem, .reach = 16}};
    Random random(8);
    for (int t = 0; t < kInstants; ++t) {
      const std::vector<float> instant = {
          static_cast<float>(100 + 10 * random.Normal()),
          static_cast<float>(random.Below(2) * 2),
          static_cast<float>(50 * random.Uniform()),
          static_cast<float>(300 + 4 * random.Normal())};
      for (const float x : instant) {
        samples_.push_back(random.Uniform() < 0.3 ? kMissing : x);
      }
    }
    for (size_t i = 0; i < weights_.size(); ++i) {
      weights_[i] = static_cast<float>(random.Normal());
    }
  }

  void FillInput(const std::vector<float>& stand_in, Matrix& x) const {
    x.Resize(kInstants, encoding_.width());
    for (int t = 0; t < kInstants; ++t) {
      encoding_.Encode(std::span(samples_).subspan(t * 4UL, 4), stand_in.data(),
                       x.Row(t));
    }
  }

  EncoderConfig config_;
  std::vector<float> samples_;
  std::vector<float> weights_ = std::vector<float>(size_t{4} * kInstants);
};

TEST_F(StandInGradients, MatchFiniteDifferencesThroughTheEncoder) {
  Parameters parameters(config_, encoding_.stand_ins());
  parameters.Initialize(4);
  Parameters gradients(config_, encoding_.stand_ins());
  const Encoder encoder(config_, parameters);
  Context context;
  EncoderActivations activations;
  std::vector<double> positions(kInstants);
  for (int t = 0; t < kInstants; ++t) positions[static_cast<size_t>(t)] = t;
  Matrix x;
  const auto loss = [&](const std::vector<float>& stand_in) {
    FillInput(stand_in, x);
    encoder.Forward(context, x.view(), positions, activations);
    double sum = 0;
    for (size_t i = 0; i < weights_.size(); ++i) {
      sum +=
          static_cast<double>(weights_[i]) * activations.forecast.floats()[i];
    }
    return sum;
  };

  loss(stand_in_);
  Matrix dforecast(kInstants, 4);
  std::ranges::copy(weights_, dforecast.data());
  Matrix dx(kInstants, encoding_.width());
  encoder.Backward(context, activations, dforecast.view(), gradients,
                   dx.view());
  std::vector<float> analytic(3, 0.0F);
  for (int t = 0; t < kInstants; ++t) {
    encoding_.AddGradients(x.Row(t), dx.Row(t), analytic.data());
  }

  for (size_t i = 0; i < stand_in_.size(); ++i) {
    constexpr float kStep = 1e-2F;
    std::vector<float> up = stand_in_;
    std::vector<float> down = stand_in_;
    up[i] += kStep;
    down[i] -= kStep;
    const double numeric = (loss(up) - loss(down)) / (2 * kStep);
    EXPECT_NEAR(analytic[i], numeric, 0.01 * std::abs(numeric) + 0.01)
        << "stand-in " << i;
    EXPECT_GT(std::abs(numeric), 0.05) << "stand-in " << i << " does nothing";
  }
}

}  // namespace
}  // namespace telltale::model
