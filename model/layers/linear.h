#pragma once

#include "model/matrix.h"
#include "model/ops/context.h"
#include "model/parameters.h"

namespace telltale::model {

// y[N, outputs] = x[N, inputs]·weight + bias; with `accumulate`, y += that.
void LinearForward(Context& context, const LinearParameters& linear,
                   const ConstMatrixView& x, const MatrixView& y,
                   bool accumulate = false);

// Given dy, adds to the gradients.
void LinearGradients(Context& context, const ConstMatrixView& x,
                     const ConstMatrixView& dy,
                     const LinearParameters& gradients);

// Given dy, writes dx, or adds to it.
void LinearBackward(Context& context, const LinearParameters& linear,
                    const ConstMatrixView& dy, const MatrixView& dx,
                    bool accumulate = false);

}  // namespace telltale::model
