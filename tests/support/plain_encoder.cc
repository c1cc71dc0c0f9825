#include "tests/support/plain_encoder.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace telltale::model {
namespace {

PlainMatrix Linear(const PlainTensors& tensors, const std::string& name,
                   const PlainMatrix& x) {
  const auto bias = tensors.find(name + ".bias");
  return PlainLinear(x, tensors.at(name + ".weight"),
                     bias == tensors.end() ? PlainMatrix() : bias->second);
}

std::string LayerPrefix(size_t layer) {
  return "encoder.layer." + std::to_string(layer) + ".";
}

// The scores of one head, [N, N + 1], the null column last.
PlainMatrix HeadScores(const EncoderConfig& config, size_t n, int head,
                       const PlainTensors& tensors,
                       const std::vector<double>& positions,
                       const PlainLayer& a) {
  const std::string prefix = LayerPrefix(n) + "attention.";
  const int64_t count = a.query.rows;
  const PlainMatrix table = config.distance_bias
                                ? tensors.at(prefix + "distance_bias")
                                : PlainMatrix();
  PlainMatrix scores(count, count + 1);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < count; ++j) {
      double product = 0;
      for (int c = 0; c < config.query_width; ++c) {
        const int64_t column = int64_t{head} * config.query_width + c;
        product += a.query.At(i, column) * a.key.At(j, column);
      }
      scores.At(i, j) =
          product / std::sqrt(static_cast<double>(config.query_width)) +
          PlainScoreBias(config, config.layers[n], table, head, i - j,
                         positions[static_cast<size_t>(i)] -
                             positions[static_cast<size_t>(j)]);
    }
    scores.At(i, count) = config.null_logit
                              ? tensors.at(prefix + "null_logit").At(0, head)
                              : -std::numeric_limits<double>::infinity();
  }
  return scores;
}

}  // namespace

PlainTensors ToPlain(const Parameters& parameters) {
  PlainTensors tensors;
  for (const NamedTensor& tensor : parameters.tensors()) {
    const int64_t columns = tensor.shape.back();
    PlainMatrix matrix(static_cast<int64_t>(tensor.size) / columns, columns);
    std::ranges::copy(parameters.Tensor(tensor), matrix.values.begin());
    tensors[tensor.name] = std::move(matrix);
  }
  return tensors;
}

PlainMatrix PlainNorm(const PlainTensors& tensors, const std::string& prefix,
                      const PlainMatrix& x) {
  return PlainLayerNorm(x, tensors.at(prefix + ".scale"),
                        tensors.at(prefix + ".shift"));
}

PlainMatrix PlainStem(const EncoderConfig& config, const PlainTensors& tensors,
                      const PlainMatrix& x) {
  const int taps = config.stem_taps;
  PlainMatrix window(x.rows, taps * x.columns);
  for (int64_t t = 0; t < x.rows; ++t) {
    for (int tap = 0; tap < taps; ++tap) {
      const int64_t source = t - (taps - 1) + tap;
      for (int64_t c = 0; c < x.columns; ++c) {
        window.At(t, tap * x.columns + c) = source < 0 ? 0 : x.At(source, c);
      }
    }
  }
  PlainMatrix y = Linear(tensors, "stem.linear", window);
  if (config.stem_hidden == 0) return y;
  const PlainMatrix hidden = PlainGelu(Linear(tensors, "stem.hidden", window));
  return PlainSum(y, Linear(tensors, "stem.output", hidden));
}

PlainMatrix PlainFeedForward(const PlainTensors& tensors,
                             const std::string& prefix, const PlainMatrix& x) {
  const PlainMatrix normed = PlainNorm(tensors, prefix + "norm", x);
  const PlainMatrix hidden =
      PlainGelu(Linear(tensors, prefix + "hidden", normed));
  return PlainSum(x, Linear(tensors, prefix + "output", hidden));
}

void PlainRotate(const EncoderConfig& config,
                 const std::vector<double>& positions, PlainMatrix& x) {
  const int half = config.query_width / 2;
  for (int64_t t = 0; t < x.rows; ++t) {
    for (int64_t column = 0; column < x.columns; ++column) {
      const auto within = static_cast<int>(column % config.query_width);
      if (within >= half) continue;
      const double angle =
          positions[static_cast<size_t>(t)] *
          std::pow(config.rotary_base, -2.0 * within / config.query_width);
      const double a = x.At(t, column);
      const double b = x.At(t, column + half);
      x.At(t, column) = a * std::cos(angle) - b * std::sin(angle);
      x.At(t, column + half) = a * std::sin(angle) + b * std::cos(angle);
    }
  }
}

double PlainScoreBias(const EncoderConfig& config, const LayerConfig& layer,
                      const PlainMatrix& distance_bias, int head, int64_t lag,
                      double distance) {
  constexpr double kUnseen = -std::numeric_limits<double>::infinity();
  if (config.causal) {
    const int64_t nearest = head < layer.blind_heads ? layer.blind_span : 0;
    if (lag < nearest || lag >= layer.reach) return kUnseen;
  } else if (std::abs(lag) >= layer.reach) {
    return kUnseen;
  }
  if (!config.distance_bias) return 0;
  const double last = static_cast<double>(layer.reach) - 1;
  const double place = std::clamp(distance, 0.0, last);
  const double below = std::floor(place);
  const double above = std::min(below + 1, last);
  const double fraction = place - below;
  return distance_bias.At(head, static_cast<int64_t>(below)) * (1 - fraction) +
         distance_bias.At(head, static_cast<int64_t>(above)) * fraction;
}

PlainMatrix PlainAttention(const EncoderConfig& config, size_t layer,
                           const PlainTensors& tensors, const PlainMatrix& x,
                           const PlainSeries& series, PlainLayer& activations) {
  PlainLayer& a = activations;
  const std::string prefix = LayerPrefix(layer) + "attention.";
  const PlainMatrix normed = PlainNorm(tensors, prefix + "norm", x);
  const PlainMatrix& source =
      config.layers[layer].key_source == KeySource::kStem ? series.stem
                                                          : normed;
  a.query = Linear(tensors, prefix + "query", normed);
  a.key = Linear(tensors, prefix + "key", source);
  a.value = Linear(tensors, prefix + "value", source);
  if (config.rotary) {
    PlainRotate(config, series.positions, a.query);
    PlainRotate(config, series.positions, a.key);
  }
  a.weights.clear();
  for (int head = 0; head < config.heads; ++head) {
    a.weights.push_back(PlainSoftmax(
        HeadScores(config, layer, head, tensors, series.positions, a)));
  }
  if (series.adjust) series.adjust(layer, a.weights);
  a.attended = PlainMatrix(x.rows, config.value_columns());
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t column = 0; column < a.attended.columns; ++column) {
      const auto head = static_cast<size_t>(column / config.value_width);
      for (int64_t j = 0; j < x.rows; ++j) {
        a.attended.At(i, column) +=
            a.weights[head].At(i, j) * a.value.At(j, column);
      }
    }
  }
  return PlainSum(x, Linear(tensors, prefix + "output", a.attended));
}

PlainActivations PlainForward(const EncoderConfig& config,
                              const PlainTensors& tensors, const PlainMatrix& x,
                              const std::vector<double>& positions,
                              const AdjustWeights& adjust) {
  PlainActivations a;
  a.stem = PlainStem(config, tensors, x);
  PlainMatrix h = a.stem;
  for (size_t n = 0; n < config.layers.size(); ++n) {
    PlainLayer& layer = a.layers.emplace_back();
    const PlainMatrix middle = PlainAttention(
        config, n, tensors, h, {a.stem, positions, adjust}, layer);
    h = PlainFeedForward(tensors, LayerPrefix(n) + "feed_forward.", middle);
    layer.output = h;
  }
  a.encoded = PlainNorm(tensors, "encoder.norm", h);
  a.forecast = Linear(tensors, "forecast", a.encoded);
  return a;
}

}  // namespace telltale::model
