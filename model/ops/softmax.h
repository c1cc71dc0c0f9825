#pragma once

#include "model/matrix.h"
#include "model/ops/context.h"

namespace telltale::model {

// y = softmax of each row of x, which attention.h is tested against; y may be
// x. Dense layouts; batches are rows. REQUIRES: x and y hold floats without
// gaps.
void Softmax(Context& context, const ConstMatrixView& x, const MatrixView& y);

// Given y = softmax(x) and dy, dx = y * (dy - sum(y * dy)) row by row; dx may
// be dy.
void SoftmaxBackward(Context& context, const ConstMatrixView& y,
                     const ConstMatrixView& dy, const MatrixView& dx);

}  // namespace telltale::model
