#include "model/layers/stem.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"

#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"
#include "tests/support/plain_encoder.h"

namespace telltale::model {
namespace {

constexpr int64_t kInstants = 21;

// The stem as the encoder runs it: zeros stand before the series.
Matrix Taps(const EncoderConfig& config, const Matrix& x) {
  const int64_t past = config.stem_taps - 1;
  Matrix padded(past + x.rows(), x.columns());
  std::ranges::copy(x.floats(), padded.Row(past));
  Matrix taps(x.rows(), config.stem_taps * x.columns());
  GatherTaps(padded.view(), config.stem_taps, taps.view());
  return taps;
}

TEST(GatherTapsTest, LaysTheOldestTapFirst) {
  Matrix x(5, 2);
  x.floats() = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  Matrix taps(3, 6);
  GatherTaps(x.view(), 3, taps.view());
  EXPECT_EQ(taps.floats(), (AlignedFloats{1, 2, 3, 4, 5, 6, 3, 4, 5, 6, 7, 8, 5,
                                          6, 7, 8, 9, 10}));
}

class StemTest : public ::testing::TestWithParam<bool> {
 protected:
  StemTest() {
    config_ = SmallConfig();
    if (!GetParam()) config_.stem_hidden = 0;
  }
  EncoderConfig config_;
  Context context_;
};

TEST_P(StemTest, ForwardEqualsPlainLoops) {
  const Parameters parameters = RandomParameters(config_, 1);
  const Matrix x = RandomMatrix(kInstants, config_.input_width, 2);
  Matrix y(kInstants, config_.width);
  StemActivations activations;
  StemForward(context_, parameters.stem(), Taps(config_, x).view(), activations,
              y.view());
  EXPECT_TRUE(IsNear(y.view(),
                     PlainStem(config_, ToPlain(parameters), ToPlain(x.view())),
                     1e-5));
}

TEST_P(StemTest, BackwardEqualsFiniteDifferences) {
  const Parameters parameters = RandomParameters(config_, 1);
  Parameters gradients(config_, 0);
  const Matrix x = RandomMatrix(kInstants, config_.input_width, 2);
  const Matrix dy = RandomMatrix(kInstants, config_.width, 3);
  const Matrix taps = Taps(config_, x);
  Matrix y(kInstants, config_.width);
  Matrix dtaps(kInstants, taps.columns());
  StemActivations activations;
  StemForward(context_, parameters.stem(), taps.view(), activations, y.view());
  StemBackward(context_, parameters.stem(), taps.view(), activations, dy.view(),
               gradients.stem(), dtaps.view());

  PlainTensors tensors = ToPlain(parameters);
  const PlainTensors found = ToPlain(gradients);
  const auto loss = [&] {
    return PlainInner(PlainStem(config_, tensors, ToPlain(x.view())),
                      ToPlain(dy.view()));
  };
  int compared = 0;
  for (auto& [name, tensor] : tensors) {
    if (!name.starts_with("stem.")) continue;
    const PlainMatrix expected = PlainDerivative(tensor, loss);
    EXPECT_GT(LargestMagnitude(expected), 0.1) << name;
    EXPECT_TRUE(IsNear(found.at(name), expected, 1e-4)) << name;
    ++compared;
  }
  EXPECT_EQ(compared, GetParam() ? 5 : 2);

  // One tap at a time: a stem of one tap as wide as all of them.
  EncoderConfig wide = config_;
  wide.input_width *= wide.stem_taps;
  wide.stem_taps = 1;
  PlainMatrix plain_taps = ToPlain(taps.view());
  const PlainMatrix expected = PlainDerivative(plain_taps, [&] {
    return PlainInner(PlainStem(wide, tensors, plain_taps), ToPlain(dy.view()));
  });
  EXPECT_TRUE(IsNear(dtaps.view(), expected, 1e-4));
}

INSTANTIATE_TEST_SUITE_P(Branches, StemTest, ::testing::Bool(),
                         [](const auto& parameter) {
                           return parameter.param ? "WithHiddenBranch"
                                                  : "LinearOnly";
                         });

}  // namespace
}  // namespace telltale::model
