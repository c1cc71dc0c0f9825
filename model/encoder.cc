#include "model/encoder.h"

#include <algorithm>
#include <cmath>

#include "model/layers/elementwise.h"
#include "model/layers/linear.h"

namespace telltale::model {

Encoder::Encoder(const EncoderConfig& config, const Parameters& parameters)
    : config_(config), parameters_(parameters) {
  for (size_t n = 0; n < config.layers.size(); ++n) {
    attention_.emplace_back(config, config.layers[n],
                            parameters.layers()[n].attention);
  }
}

void Encoder::Forward(Context& context, const ConstMatrixView& x,
                      std::span<const double> positions,
                      EncoderActivations& activations) const {
  EncoderActivations& a = activations;
  const int64_t n = x.rows;
  const int64_t past = config_.stem_taps - 1;
  a.positions.assign(positions.begin(), positions.end());
  ComputeAngles(RotaryFrequencies(config_), a.positions, a.angles);
  a.padded.Resize(past + n, config_.input_width);
  std::fill_n(a.padded.data(), past * config_.input_width, 0.0F);
  Copy(x, a.padded.view().Rows(past, n));
  a.taps.Resize(n, config_.tap_columns());
  GatherTaps(a.padded.view(), config_.stem_taps, a.taps.view());
  a.stem.Resize(n, config_.width);
  StemForward(context, parameters_.stem(), a.taps.view(), a.stem_activations,
              a.stem.view());

  a.layers.resize(attention_.size());
  a.last.Resize(n, config_.width);
  for (size_t i = 0; i < attention_.size(); ++i) {
    EncoderActivations::Layer& layer = a.layers[i];
    layer.input.Resize(n, config_.width);
    layer.middle.Resize(n, config_.width);
    if (i == 0) Copy(a.stem.view(), layer.input.view());
    Matrix& output = i + 1 < a.layers.size() ? a.layers[i + 1].input : a.last;
    output.Resize(n, config_.width);
    attention_[i].Forward(
        context, {layer.input.view(), a.stem.view(), a.angles, a.positions},
        layer.attention, layer.middle.view());
    FeedForwardForward(context, parameters_.layers()[i].feed_forward,
                       layer.middle.view(), layer.feed_forward, output.view());
  }
  NormForward(context, parameters_.norm(), a.last.view(), a.norm);
  a.forecast.Resize(n, config_.output_width());
  LinearForward(context, parameters_.forecast(), a.norm.output.view(),
                a.forecast.view());
}

void Encoder::Backward(Context& context, EncoderActivations& activations,
                       const ConstMatrixView& dforecast, Parameters& gradients,
                       const MatrixView& dx) const {
  EncoderActivations& a = activations;
  const int64_t n = dforecast.rows;
  a.dx.Resize(n, config_.width);
  a.dmiddle.Resize(n, config_.width);
  a.dstem.Resize(n, config_.width);
  a.dtaps.Resize(n, a.taps.columns());
  std::ranges::fill(a.dstem.floats(), 0.0F);

  LinearGradients(context, a.norm.output.view(), dforecast,
                  gradients.forecast());
  LinearBackward(context, parameters_.forecast(), dforecast, a.dmiddle.view());
  NormBackward(context, parameters_.norm(), a.last.view(), a.norm,
               a.dmiddle.view(), gradients.norm(), a.dx.view());
  for (size_t i = attention_.size(); i-- > 0;) {
    EncoderActivations::Layer& layer = a.layers[i];
    const LayerParameters& layer_gradients = gradients.layers()[i];
    FeedForwardBackward(context, parameters_.layers()[i].feed_forward,
                        layer.middle.view(), layer.feed_forward, a.dx.view(),
                        layer_gradients.feed_forward, a.dmiddle.view());
    attention_[i].Backward(
        context, {layer.input.view(), a.stem.view(), a.angles, a.positions},
        layer.attention, a.dmiddle.view(), layer_gradients.attention,
        a.dx.view(), a.dstem.view());
  }
  Add(a.dx.view(), a.dstem.view());  // the first layer's input is the stem
  StemBackward(context, parameters_.stem(), a.taps.view(), a.stem_activations,
               a.dstem.view(), gradients.stem(), a.dtaps.view());

  // Instant t is the last tap of row t, the one before of row t + 1, ...
  const int64_t width = config_.input_width;
  const int64_t taps = config_.stem_taps;
  for (int64_t t = 0; t < n; ++t) {
    float* row = dx.Row(t);
    std::fill_n(row, width, 0.0F);
    for (int64_t later = 0; later < taps && t + later < n; ++later) {
      const float* from = a.dtaps.Row(t + later) + (taps - 1 - later) * width;
      for (int64_t i = 0; i < width; ++i) row[i] += from[i];
    }
  }
}

}  // namespace telltale::model
