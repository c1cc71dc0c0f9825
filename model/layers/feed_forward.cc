#include "model/layers/feed_forward.h"

#include "model/layers/elementwise.h"
#include "model/layers/linear.h"
#include "model/ops/gelu.h"

namespace telltale::model {

void FeedForwardForward(Context& context,
                        const FeedForwardParameters& parameters,
                        const ConstMatrixView& x,
                        FeedForwardActivations& activations,
                        const MatrixView& y) {
  NormForward(context, parameters.norm, x, activations.norm);
  activations.hidden.Resize(x.rows, parameters.hidden.outputs);
  activations.active.Resize(x.rows, parameters.hidden.outputs);
  LinearForward(context, parameters.hidden, activations.norm.output.view(),
                activations.hidden.view());
  Gelu(context, activations.hidden.view(), activations.active.view());
  Copy(x, y);
  LinearForward(context, parameters.output, activations.active.view(), y,
                /*accumulate=*/true);
}

void FeedForwardBackward(Context& context,
                         const FeedForwardParameters& parameters,
                         const ConstMatrixView& x,
                         FeedForwardActivations& activations,
                         const ConstMatrixView& dy,
                         const FeedForwardParameters& gradients,
                         const MatrixView& dx) {
  Matrix& dhidden = activations.dhidden;
  Matrix& dnormed = activations.dnormed;
  dhidden.Resize(x.rows, parameters.hidden.outputs);
  dnormed.Resize(x.rows, x.columns);
  LinearGradients(context, activations.active.view(), dy, gradients.output);
  LinearBackward(context, parameters.output, dy, dhidden.view());
  GeluBackward(context, activations.hidden.view(), dhidden.view(),
               dhidden.view());
  LinearGradients(context, activations.norm.output.view(), dhidden.view(),
                  gradients.hidden);
  LinearBackward(context, parameters.hidden, dhidden.view(), dnormed.view());
  NormBackward(context, parameters.norm, x, activations.norm, dnormed.view(),
               gradients.norm, dx);
  Add(dy, dx);  // the residual
}

}  // namespace telltale::model
