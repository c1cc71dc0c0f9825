#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/encoder_config.h"
#include "model/layers/feed_forward.h"
#include "model/layers/multi_head_attention.h"
#include "model/layers/norm.h"
#include "model/layers/rotary.h"
#include "model/layers/stem.h"
#include "model/matrix.h"
#include "model/ops/context.h"
#include "model/parameters.h"

namespace telltale::model {

// What Forward keeps for Backward, over one series of N instants.
struct EncoderActivations {
  struct Layer {
    Matrix input;   // [N, D]
    Matrix middle;  // [N, D], after attention
    AttentionActivations attention;
    FeedForwardActivations feed_forward;
  };

  std::vector<double> positions;  // [N]
  RotaryAngles angles;
  Matrix padded;  // [taps - 1 + N, I], zeros first
  Matrix taps;    // [N, taps * I]
  StemActivations stem_activations;
  Matrix stem;  // [N, D]
  std::vector<Layer> layers;
  Matrix last;  // [N, D], out of the last layer
  NormActivations norm;
  // [N, output_width()]: horizons * T forecasts, horizon-major, then the
  // verdict's logit if there is one.
  Matrix forecast;
  Matrix dx, dmiddle, dstem, dtaps;  // scratch
};

// The causal self-attention encoder with its forecast head: stem, layers of
// attention and feed-forward, final norm, linear head.
//
// It is defined on the stream: an instant attends to itself and to the
// `reach - 1` instants before it. This evaluates a whole series at once, with
// its gradients, for training; StreamEncoder is the same function, for serving.
//
// Views config and parameters, which must outlive it. Belongs, with its
// activations and Context, to one thread.
class Encoder {
 public:
  Encoder(const EncoderConfig& config, const Parameters& parameters);

  // x[N, I] at positions[N], in units of the cadence.
  void Forward(Context& context, const ConstMatrixView& x,
               std::span<const double> positions,
               EncoderActivations& activations) const;

  // Given dforecast, adds to `gradients` and writes dx[N, I].
  void Backward(Context& context, EncoderActivations& activations,
                const ConstMatrixView& dforecast, Parameters& gradients,
                const MatrixView& dx) const;

 private:
  const EncoderConfig& config_;
  const Parameters& parameters_;
  std::vector<MultiHeadAttention> attention_;
};

}  // namespace telltale::model
