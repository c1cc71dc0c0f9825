#include "model/layers/stem.h"

#include <algorithm>

#include "model/layers/linear.h"
#include "model/ops/gelu.h"

namespace telltale::model {

void StemForward(Context& context, const StemParameters& parameters,
                 const ConstMatrixView& taps, StemActivations& activations,
                 const MatrixView& y) {
  LinearForward(context, parameters.linear, taps, y);
  if (parameters.hidden.outputs == 0) return;
  activations.hidden.Resize(taps.rows, parameters.hidden.outputs);
  activations.active.Resize(taps.rows, parameters.hidden.outputs);
  LinearForward(context, parameters.hidden, taps, activations.hidden.view());
  Gelu(context, activations.hidden.view(), activations.active.view());
  LinearForward(context, parameters.output, activations.active.view(), y,
                /*accumulate=*/true);
}

void StemBackward(Context& context, const StemParameters& parameters,
                  const ConstMatrixView& taps, StemActivations& activations,
                  const ConstMatrixView& dy, const StemParameters& gradients,
                  const MatrixView& dtaps) {
  LinearGradients(context, taps, dy, gradients.linear);
  LinearBackward(context, parameters.linear, dy, dtaps);
  if (parameters.hidden.outputs == 0) return;
  Matrix& dhidden = activations.dhidden;
  dhidden.Resize(taps.rows, parameters.hidden.outputs);
  LinearGradients(context, activations.active.view(), dy, gradients.output);
  LinearBackward(context, parameters.output, dy, dhidden.view());
  GeluBackward(context, activations.hidden.view(), dhidden.view(),
               dhidden.view());
  LinearGradients(context, taps, dhidden.view(), gradients.hidden);
  LinearBackward(context, parameters.hidden, dhidden.view(), dtaps,
                 /*accumulate=*/true);
}

void GatherTaps(const ConstMatrixView& x, int tap_count,
                const MatrixView& taps) {
  const int64_t width = x.columns;
  for (int64_t t = 0; t < taps.rows; ++t) {
    for (int tap = 0; tap < tap_count; ++tap) {
      std::copy_n(x.Row(t + tap), width, taps.Row(t) + tap * width);
    }
  }
}

}  // namespace telltale::model
