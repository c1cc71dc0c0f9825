// What an output owes to the inputs of earlier instants.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "model/stream_encoder.h"
#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"
#include "tests/support/stream.h"

namespace telltale::model {
namespace {

constexpr int64_t kCount = 60;

class ExplainInputsTest : public testing::Test {
 protected:
  static EncoderConfig VerdictConfig() {
    EncoderConfig config = SmallConfig();
    config.verdict = true;
    return config;
  }

  // The explanation of the verdict on instant `query` of the series.
  int64_t Explain(const std::vector<int>& passes, int64_t query,
                  Matrix& parts) {
    Stream stream(config_, x_, positions_);
    AdvanceTo(encoder_, stream, passes, query + 1);
    const int64_t first = encoder_.ExplainInputs(
        stream.cache(), query, config_.forecast_width(), parts);
    begin_ = encoder_.Explain(stream.cache(), query, config_.forecast_width(),
                              readout_);
    return first;
  }

  static double Sum(std::span<const float> values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  }

  const EncoderConfig config_ = VerdictConfig();
  const Parameters parameters_ = RandomParameters(config_, 1);
  Context context_;
  StreamEncoder encoder_{context_, config_, parameters_};
  Matrix x_ = RandomMatrix(kCount, config_.input_width, 2);
  const std::vector<double> positions_ = Positions(kCount, false);
  std::vector<float> readout_;  // of the keys from begin_ on
  int64_t begin_ = 0;
};

TEST_F(ExplainInputsTest, DividesEachKeysPartAmongWhatItsStemCovers) {
  Matrix parts;
  const int64_t first = Explain({16}, kCount - 1, parts);

  EXPECT_EQ(first, begin_ - (config_.stem_taps - 1));
  EXPECT_EQ(parts.rows(), kCount - first);
  EXPECT_EQ(parts.columns(), config_.input_width);
  EXPECT_TRUE(std::ranges::all_of(parts.floats(),
                                  [](float part) { return part >= 0; }));
  // The sixteen keys that count most, of all that there are.
  ASSERT_GT(readout_.size(), 16U);
  std::ranges::sort(readout_, std::greater<>());
  const double expected = Sum(std::span(readout_).first(16));
  EXPECT_NEAR(Sum(parts.floats()), expected, 1e-5 * expected);
}

TEST_F(ExplainInputsTest, DividesAllKeysWhereTheyAreFew) {
  Matrix parts;
  Explain({16}, 12, parts);

  EXPECT_NEAR(Sum(parts.floats()), Sum(readout_), 1e-5 * Sum(readout_));
  // The latest instant is under the latest key's stem alone.
  const std::span<const float> latest(parts.Row(12),
                                      static_cast<size_t>(parts.columns()));
  EXPECT_GT(Sum(latest), 0);
  EXPECT_LT(Sum(latest), readout_.back());
}

TEST_F(ExplainInputsTest, GivesAllOfItToTheOnlyInputThatIsNotZero) {
  constexpr int64_t kPulse = 47;
  std::ranges::fill(x_.floats(), 0.0F);
  x_.Row(kPulse)[1] = 1;
  Matrix parts;
  const int64_t first = Explain({16}, kCount - 1, parts);

  double expected = 0;  // the keys whose stems cover the pulse
  for (int64_t key = kPulse; key < kPulse + config_.stem_taps; ++key) {
    expected += readout_[static_cast<size_t>(key - begin_)];
  }
  ASSERT_GT(expected, 0);
  EXPECT_NEAR(parts.Row(kPulse - first)[1], expected, 1e-5 * expected);
  parts.Row(kPulse - first)[1] = 0;
  EXPECT_EQ(Sum(parts.floats()), 0);
}

TEST_F(ExplainInputsTest, ReachesNoFurtherThanTheStreamsBeginning) {
  Matrix parts;
  const int64_t first = Explain({16}, 7, parts);

  EXPECT_EQ(first, 0);
  EXPECT_EQ(parts.rows(), 8);
  EXPECT_GT(Sum(parts.floats()), 0);
}

TEST_F(ExplainInputsTest, DoesNotDependOnTheCutOfTheStream) {
  Matrix parts, others;
  Explain({16}, kCount - 1, parts);
  for (const std::vector<int>& passes :
       {std::vector<int>{1}, std::vector<int>{7, 16, 3}}) {
    Explain(passes, kCount - 1, others);
    EXPECT_TRUE(HasBits(others, parts));
  }
}

TEST_F(ExplainInputsTest, LooksBackFromAnInstantWithinAPass) {
  Stream stream(config_, x_, positions_);
  AdvanceTo(encoder_, stream, {16}, 48);
  Matrix parts, others;
  encoder_.ExplainInputs(stream.cache(), 40, config_.forecast_width(), parts);
  Explain({1}, 40, others);

  EXPECT_TRUE(HasBits(parts, others));
}

}  // namespace
}  // namespace telltale::model
