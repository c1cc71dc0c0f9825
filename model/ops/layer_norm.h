#pragma once

#include "model/matrix.h"
#include "model/ops/context.h"

namespace telltale::model {

// What layer norm is given and keeps, for x[N, D].
struct LayerNormState {
  float* mean = nullptr;      // [N]
  float* variance = nullptr;  // [N]
};

// y = (x - mean) / sqrt(variance + 1e-5) * scale + shift, row by row (Ba,
// Kiros & Hinton 2016). `scale` and `shift` are [D]; dense layouts.
void LayerNorm(Context& context, const ConstMatrixView& x, const float* scale,
               const float* shift, const LayerNormState& state,
               const MatrixView& y);

// The gradients of one batch, [D] each.
struct LayerNormGradients {
  float* scale = nullptr;
  float* shift = nullptr;
};

// Given dy, writes dx and overwrites the gradients of scale and shift.
void LayerNormBackward(Context& context, const ConstMatrixView& x,
                       const float* scale, const LayerNormState& state,
                       const ConstMatrixView& dy, const MatrixView& dx,
                       const LayerNormGradients& gradients);

}  // namespace telltale::model
