#include "model/layers/norm.h"

#include "model/ops/layer_norm.h"

namespace telltale::model {

void NormForward(Context& context, const NormParameters& norm,
                 const ConstMatrixView& x, NormActivations& activations) {
  activations.output.Resize(x.rows, x.columns);
  activations.mean.resize(static_cast<size_t>(x.rows));
  activations.variance.resize(static_cast<size_t>(x.rows));
  LayerNorm(context, x, norm.scale, norm.shift,
            {activations.mean.data(), activations.variance.data()},
            activations.output.view());
}

void NormBackward(Context& context, const NormParameters& norm,
                  const ConstMatrixView& x, NormActivations& activations,
                  const ConstMatrixView& dy, const NormParameters& gradients,
                  const MatrixView& dx) {
  activations.dscale.resize(static_cast<size_t>(x.columns));
  activations.dshift.resize(static_cast<size_t>(x.columns));
  LayerNormBackward(context, x, norm.scale,
                    {activations.mean.data(), activations.variance.data()}, dy,
                    dx, {activations.dscale.data(), activations.dshift.data()});
  for (int64_t i = 0; i < x.columns; ++i) {
    gradients.scale[i] += activations.dscale[static_cast<size_t>(i)];
    gradients.shift[i] += activations.dshift[static_cast<size_t>(i)];
  }
}

}  // namespace telltale::model
