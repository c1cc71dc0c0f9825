#include "server/cli/onnx_layers.h"

#include <cmath>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"

namespace telltale::server {
namespace {

using model::KeySource;
using model::LinearParameters;
using model::NormParameters;

constexpr float kNormEpsilon = 1e-5F;  // that of model/ops/layer_norm.cc

std::string Prefix(size_t layer, const char* part) {
  return absl::StrCat("layer.", layer, ".", part, ".");
}

}  // namespace

std::string OnnxLayers::Linear(const std::string& name,
                               const LinearParameters& linear,
                               const std::string& rows, float factor) {
  const auto constant = [&](const char* what, const float* values,
                            std::vector<int64_t> shape, int count) {
    std::vector<float> scaled(values, values + count);
    for (float& value : scaled) value *= factor;
    return graph_.Constant(name + what, std::move(shape), scaled);
  };
  const std::string weight =
      constant(".weight", linear.weight, {linear.inputs, linear.outputs},
               linear.inputs * linear.outputs);
  if (linear.bias == nullptr) return graph_.Apply("MatMul", {rows, weight});
  const std::string bias =
      constant(".bias", linear.bias, {linear.outputs}, linear.outputs);
  return graph_.Apply("Gemm", {rows, weight, bias});
}

std::string OnnxLayers::Norm(const std::string& name,
                             const NormParameters& norm,
                             const std::string& rows) {
  const auto width = static_cast<size_t>(config_.width);
  const std::string scale =
      graph_.Constant(name + ".scale", {config_.width}, {norm.scale, width});
  const std::string shift =
      graph_.Constant(name + ".shift", {config_.width}, {norm.shift, width});
  return graph_.Apply("LayerNormalization", {rows, scale, shift},
                      {{"axis", int64_t{-1}}, {"epsilon", kNormEpsilon}});
}

std::string OnnxLayers::Stem(const std::string& taps) {
  const model::StemParameters& stem = parameters_.stem();
  std::string linear = Linear("stem.linear", stem.linear, taps);
  if (stem.hidden.outputs == 0) return linear;
  const std::string active =
      graph_.Apply("Gelu", {Linear("stem.hidden", stem.hidden, taps)});
  return graph_.Apply("Add",
                      {linear, Linear("stem.output", stem.output, active)});
}

OnnxLayers::Projected OnnxLayers::Project(size_t layer,
                                          const std::string& stream,
                                          const std::string& stem) {
  const model::AttentionParameters& attention =
      parameters_.layers()[layer].attention;
  const std::string name = Prefix(layer, "attention");
  const float scale = 1 / std::sqrt(static_cast<float>(config_.query_width));
  const std::string normed = Norm(name + "norm", attention.norm, stream);
  const bool local = config_.layers[layer].key_source == KeySource::kStem;
  const std::string& source = local ? stem : normed;
  return {Linear(name + "query", attention.query, normed, scale),
          Linear(name + "key", attention.key, source),
          Linear(name + "value", attention.value, source)};
}

std::string OnnxLayers::Finish(size_t layer, const std::string& stream,
                               const std::string& attended) {
  const model::LayerParameters& parameters = parameters_.layers()[layer];
  const std::string middle = graph_.Apply(
      "Add", {stream, Linear(Prefix(layer, "attention") + "output",
                             parameters.attention.output, attended)});
  const std::string name = Prefix(layer, "feed_forward");
  const model::FeedForwardParameters& feed_forward = parameters.feed_forward;
  const std::string hidden =
      Linear(name + "hidden", feed_forward.hidden,
             Norm(name + "norm", feed_forward.norm, middle));
  return graph_.Apply("Add",
                      {middle, Linear(name + "output", feed_forward.output,
                                      graph_.Apply("Gelu", {hidden}))});
}

std::string OnnxLayers::Forecast(const std::string& stream) {
  return Linear("forecast", parameters_.forecast(),
                Norm("norm", parameters_.norm(), stream));
}

std::string OnnxLayers::Turn(const std::string& heads) {
  if (!config_.rotary) return heads;
  const std::vector<std::string> halves =
      graph_.ApplyAll("Split", std::span(&heads, 1), 2,
                      {{"axis", int64_t{-1}}, {"num_outputs", int64_t{2}}});
  const auto times = [&](const std::string& half, const char* angles) {
    return graph_.Apply("Mul", {half, angles});
  };
  const std::string low = graph_.Apply(
      "Sub", {times(halves[0], "cosine"), times(halves[1], "sine")});
  const std::string high = graph_.Apply(
      "Add", {times(halves[0], "sine"), times(halves[1], "cosine")});
  return graph_.Apply("Concat", {low, high}, {{"axis", int64_t{-1}}});
}

}  // namespace telltale::server
