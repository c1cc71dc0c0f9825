#include "model/layers/linear.h"

#include "model/ops/matmul.h"

namespace telltale::model {
namespace {

MatrixView Weight(const LinearParameters& linear) {
  return View(linear.weight, linear.inputs, linear.outputs);
}

}  // namespace

void LinearForward(Context& context, const LinearParameters& linear,
                   const ConstMatrixView& x, const MatrixView& y,
                   bool accumulate) {
  MatMul(context, x, Weight(linear), y,
         {.accumulate = accumulate, .bias = linear.bias});
}

void LinearGradients(Context& context, const ConstMatrixView& x,
                     const ConstMatrixView& dy,
                     const LinearParameters& gradients) {
  MatMul(context, x.Transposed(), dy, Weight(gradients), {.accumulate = true});
  if (gradients.bias == nullptr) return;
  for (int64_t row = 0; row < dy.rows; ++row) {
    const float* dy_row = dy.Row(row);
    for (int64_t i = 0; i < dy.columns; ++i) gradients.bias[i] += dy_row[i];
  }
}

void LinearBackward(Context& context, const LinearParameters& linear,
                    const ConstMatrixView& dy, const MatrixView& dx,
                    bool accumulate) {
  MatMul(context, dy, Weight(linear).Transposed(), dx,
         {.accumulate = accumulate});
}

}  // namespace telltale::model
