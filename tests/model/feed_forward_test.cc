#include "model/layers/feed_forward.h"

#include <string>

#include "gtest/gtest.h"

#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"
#include "tests/support/plain_encoder.h"

namespace telltale::model {
namespace {

constexpr int64_t kInstants = 19;
constexpr char kPrefix[] = "encoder.layer.1.feed_forward.";

TEST(FeedForwardTest, ForwardEqualsPlainLoops) {
  Context context;
  const EncoderConfig config = SmallConfig();
  const Parameters parameters = RandomParameters(config, 1);
  const Matrix x = RandomMatrix(kInstants, config.width, 2);
  Matrix y(kInstants, config.width);
  FeedForwardActivations activations;
  FeedForwardForward(context, parameters.layers()[1].feed_forward, x.view(),
                     activations, y.view());
  EXPECT_TRUE(IsNear(
      y.view(),
      PlainFeedForward(ToPlain(parameters), kPrefix, ToPlain(x.view())), 1e-5));
}

TEST(FeedForwardTest, BackwardEqualsFiniteDifferences) {
  Context context;
  const EncoderConfig config = SmallConfig();
  const Parameters parameters = RandomParameters(config, 1);
  Parameters gradients(config, 0);
  const Matrix x = RandomMatrix(kInstants, config.width, 2);
  const Matrix dy = RandomMatrix(kInstants, config.width, 3);
  Matrix y(kInstants, config.width);
  Matrix dx(kInstants, config.width);
  FeedForwardActivations activations;
  FeedForwardForward(context, parameters.layers()[1].feed_forward, x.view(),
                     activations, y.view());
  FeedForwardBackward(context, parameters.layers()[1].feed_forward, x.view(),
                      activations, dy.view(),
                      gradients.layers()[1].feed_forward, dx.view());

  PlainTensors tensors = ToPlain(parameters);
  const PlainTensors found = ToPlain(gradients);
  PlainMatrix plain_x = ToPlain(x.view());
  const auto loss = [&] {
    return PlainInner(PlainFeedForward(tensors, kPrefix, plain_x),
                      ToPlain(dy.view()));
  };
  int compared = 0;
  for (auto& [name, tensor] : tensors) {
    if (!name.starts_with(kPrefix)) continue;
    const PlainMatrix expected = PlainDerivative(tensor, loss);
    EXPECT_GT(LargestMagnitude(expected), 0.1) << name;
    EXPECT_TRUE(IsNear(found.at(name), expected, 1e-4)) << name;
    ++compared;
  }
  EXPECT_EQ(compared, 6);
  EXPECT_TRUE(IsNear(dx.view(), PlainDerivative(plain_x, loss), 1e-4));
}

}  // namespace
}  // namespace telltale::model
