#pragma once

#include <vector>

#include "model/matrix.h"
#include "model/ops/context.h"
#include "model/parameters.h"

namespace telltale::model {

// What NormForward keeps for NormBackward.
struct NormActivations {
  Matrix output;                      // [N, D]
  std::vector<float> mean, variance;  // [N]
  std::vector<float> dscale, dshift;  // [D], scratch
};

// activations.output = layer norm of x[N, D].
void NormForward(Context& context, const NormParameters& norm,
                 const ConstMatrixView& x, NormActivations& activations);

// Given dy, writes dx and adds to the gradients.
void NormBackward(Context& context, const NormParameters& norm,
                  const ConstMatrixView& x, NormActivations& activations,
                  const ConstMatrixView& dy, const NormParameters& gradients,
                  const MatrixView& dx);

}  // namespace telltale::model
