#pragma once

#include "model/matrix.h"
#include "model/ops/context.h"

namespace telltale::model {

struct MatMulOptions {
  float scale = 1;              // of product and bias
  bool accumulate = false;      // add to c instead of overwriting it
  const float* bias = nullptr;  // [columns of c]; null: none
};

// c = scale * (a·b + bias), or c += that, for each matrix of the batch.
// Any of them may be transposed or strided as long as one stride is 1.
// REQUIRES: a.columns == b.rows, c is a.rows x b.columns, equal batches.
// Gradients of c = a·b are products too: da = dc·b', db = a'·dc.
void MatMul(Context& context, const ConstMatrixView& a,
            const ConstMatrixView& b, const MatrixView& c,
            const MatMulOptions& options = {});

}  // namespace telltale::model
