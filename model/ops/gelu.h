#pragma once

#include "model/matrix.h"
#include "model/ops/context.h"

namespace telltale::model {

// y = x * Phi(x), the exact form with erf (Hendrycks & Gimpel 2016); y may be
// x. Dense layouts.
void Gelu(Context& context, const ConstMatrixView& x, const MatrixView& y);

// Given the x of the forward pass and dy, writes dx; dx may be dy.
void GeluBackward(Context& context, const ConstMatrixView& x,
                  const ConstMatrixView& dy, const MatrixView& dx);

}  // namespace telltale::model
