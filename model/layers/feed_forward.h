#pragma once

#include "model/layers/norm.h"
#include "model/matrix.h"
#include "model/ops/context.h"
#include "model/parameters.h"

namespace telltale::model {

// What FeedForwardForward keeps for FeedForwardBackward.
struct FeedForwardActivations {
  NormActivations norm;
  Matrix hidden;            // [N, F], before GELU
  Matrix active;            // [N, F], after it
  Matrix dhidden, dnormed;  // scratch
};

// The position-wise feed-forward sublayer, pre-norm with its residual:
// y = x + W2 gelu(W1 norm(x)). x and y are [N, D] and distinct.
void FeedForwardForward(Context& context,
                        const FeedForwardParameters& parameters,
                        const ConstMatrixView& x,
                        FeedForwardActivations& activations,
                        const MatrixView& y);

// Given dy, writes dx and adds to the gradients. dx and dy are distinct.
void FeedForwardBackward(Context& context,
                         const FeedForwardParameters& parameters,
                         const ConstMatrixView& x,
                         FeedForwardActivations& activations,
                         const ConstMatrixView& dy,
                         const FeedForwardParameters& gradients,
                         const MatrixView& dx);

}  // namespace telltale::model
