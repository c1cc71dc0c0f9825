#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/encoder_config.h"
#include "model/kv_cache.h"
#include "model/layers/norm.h"
#include "model/layers/rotary.h"
#include "model/layers/score_mask.h"
#include "model/matrix.h"
#include "model/ops/attention.h"
#include "model/ops/context.h"
#include "model/parameters.h"

namespace telltale::model {

// What Forward keeps for Backward.
struct AttentionActivations {
  // Consecutive queries and the span of keys that they can see.
  struct Block {
    int64_t query_begin = 0, query_end = 0;
    int64_t key_begin = 0, key_end = 0;  // begins with a key block
    int64_t columns = 0;                 // keys up to whole key blocks
    Matrix weights;  // [H * queries, ScoreMask::Columns(columns)]
  };

  NormActivations norm;
  Matrix query, key;  // [N, H * query_width], turned by position
  Matrix value;       // [N, H * value_width]
  // Keys and values once more, a key a column: [.., KeyStride(N)].
  Matrix key_columns, value_columns;
  std::vector<Block> blocks;
  Matrix attended;  // [N, H * value_width]
  Matrix dquery, dkey, dvalue, dattended, dweights, dnormed;  // scratch
};

// What a layer attends over, N instants.
struct AttentionInput {
  ConstMatrixView x;     // [N, D]
  ConstMatrixView stem;  // [N, D], for layers that take their keys from it
  const RotaryAngles& angles;
  std::span<const double> positions;  // [N]
};

// Causal multi-head self-attention (Vaswani et al. 2017, section 3.2.2), with
// its pre-norm and residual: scores q·k / sqrt(query_width), a softmax across
// keys for each query, the weighted sum of values, heads concatenated and
// projected by W_O.
//
// Keys and values come from the layer's own input or from the stem. Views its
// arguments, which must outlive it. One thread at a time.
class MultiHeadAttention {
 public:
  MultiHeadAttention(const EncoderConfig& config, const LayerConfig& layer,
                     const AttentionParameters& parameters);

  // Training: y = x + attention over all of x; y[N, D] and x are distinct.
  void Forward(Context& context, const AttentionInput& input,
               AttentionActivations& activations, const MatrixView& y) const;

  // Given dy, writes dx, adds to dstem and to the gradients. The input is that
  // of Forward; dx and dy are distinct.
  void Backward(Context& context, const AttentionInput& input,
                AttentionActivations& activations, const ConstMatrixView& dy,
                const AttentionParameters& gradients, const MatrixView& dx,
                const MatrixView& dstem) const;

  // The steps of Forward, one by one, for serving.

  // Queries, keys and values of the input, into activations.
  void Project(Context& context, const AttentionInput& input,
               AttentionActivations& activations) const;

  // Attention of n <= kTileRows queries[n, H * query_width] of one stream over
  // its cache. Writes attended[n, H * value_width] and their rows of
  // weights[H * kTileRows, Columns(slots)].
  void Attend(const ConstMatrixView& queries,
              std::span<const QueryPlace> places, std::span<const KeyRun> runs,
              const KvLayer& cache, Matrix& weights,
              const MatrixView& attended) const;

  // y = x + W_O attended.
  void Project(Context& context, const ConstMatrixView& x,
               const ConstMatrixView& attended, const MatrixView& y) const;

  const AttentionParameters& parameters() const { return parameters_; }

 private:
  float scale() const;
  // The same over keys that are the first head's, those of others following;
  // weights: n rows a head.
  void Attend(const ConstMatrixView& queries,
              std::span<const QueryPlace> places, std::span<const KeyRun> runs,
              HeadKeys keys, const MatrixView& weights,
              const MatrixView& attended) const;
  void ForwardBlock(std::span<const double> positions,
                    AttentionActivations::Block& block,
                    AttentionActivations& activations) const;
  void BackwardBlock(Context& context, std::span<const double> positions,
                     const AttentionActivations::Block& block,
                     AttentionActivations& activations,
                     const AttentionParameters& gradients) const;

  const EncoderConfig& config_;
  const LayerConfig& layer_;
  const AttentionParameters& parameters_;
  ScoreMask mask_;
};

}  // namespace telltale::model
