#include "server/cli/onnx_encoder.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "model/layers/rotary.h"
#include "model/layers/score_mask.h"
#include "model/matrix.h"
#include "server/cli/onnx_graph.h"

namespace telltale::server {
namespace {

using model::AttentionParameters;
using model::EncoderConfig;
using model::KeySource;
using model::LayerConfig;
using model::LinearParameters;
using model::NormParameters;
using model::Parameters;

constexpr int64_t kMaxConstantBytes = int64_t{512} << 20;
constexpr float kNormEpsilon = 1e-5F;  // that of model/ops/layer_norm.cc

// Values are named by what they hold; rows are [batch * N, columns].
class EncoderGraph {
 public:
  EncoderGraph(const EncoderConfig& config, const Parameters& parameters,
               const OnnxOptions& options)
      : config_(config),
        parameters_(parameters),
        length_(options.length),
        runtime_(options.operations == OnnxOperations::kRuntime),
        positions_(static_cast<size_t>(options.length)) {
    std::iota(positions_.begin(), positions_.end(), 0.0);
  }

  onnx::ModelProto Build();

 private:
  // The residual stream, and a norm of it.
  struct Normed {
    std::string stream, norm;
  };

  std::string Reshape(const std::string& value,
                      const std::vector<int64_t>& shape) {
    return graph_.Apply("Reshape", {value, graph_.Integers(shape)});
  }
  // `factor`: of weight and bias.
  std::string Linear(const std::string& name, const LinearParameters& linear,
                     const std::string& rows, float factor = 1);
  Normed AddAndNorm(const std::string& name, const NormParameters& norm,
                    const std::string& stream, const std::string& addend);
  std::string Norm(const std::string& name, const NormParameters& norm,
                   const std::string& rows);

  std::string Stem(const std::string& input);
  void AddAngles();
  std::string Attention(const std::string& name, size_t layer,
                        const std::string& normed, const std::string& source);
  // Attention of rows of queries, keys and values, by standard operations or
  // by those of ONNX Runtime.
  std::string Attend(const std::string& name, size_t layer,
                     const std::string& query, const std::string& key,
                     const std::string& value);
  std::string AttendFused(const std::string& name, size_t layer,
                          const std::string& query, const std::string& key,
                          const std::string& value);
  std::string Turn(const std::string& heads);
  std::string TurnFused(const std::string& columns);
  // Appends a key or value of zeros along `axis`, for attending to nothing.
  std::string WithNothing(const std::string& value, size_t axis, size_t rank);
  std::string Mask(const std::string& name, size_t layer);

  const EncoderConfig& config_;
  const Parameters& parameters_;
  const int64_t length_;
  const bool runtime_;
  std::vector<double> positions_;
  OnnxGraph graph_;
};

onnx::ModelProto EncoderGraph::Build() {
  graph_.AddInput("input",
                  std::vector<int64_t>{-1, length_, config_.input_width},
                  "encoded instants, one cadence apart");
  if (config_.rotary) AddAngles();
  const std::string stem = Stem("input");
  std::string stream = stem;
  std::string addend;  // what the stream is still to be added
  for (size_t i = 0; i < config_.layers.size(); ++i) {
    const model::LayerParameters& layer = parameters_.layers()[i];
    const std::string name = absl::StrCat("layer.", i, ".");
    const Normed before = AddAndNorm(name + "attention.norm",
                                     layer.attention.norm, stream, addend);
    const bool local = config_.layers[i].key_source == KeySource::kStem;
    const std::string attended = Attention(name + "attention.", i, before.norm,
                                           local ? stem : before.norm);
    const Normed middle =
        AddAndNorm(name + "feed_forward.norm", layer.feed_forward.norm,
                   before.stream, attended);
    const std::string hidden = Linear(name + "feed_forward.hidden",
                                      layer.feed_forward.hidden, middle.norm);
    addend = Linear(name + "feed_forward.output", layer.feed_forward.output,
                    graph_.Apply("Gelu", {hidden}));
    stream = middle.stream;
  }
  const Normed last = AddAndNorm("norm", parameters_.norm(), stream, addend);
  const std::vector<int64_t> shape = {-1, length_, config_.output_width()};
  graph_.AddOutput(
      Reshape(Linear("forecast", parameters_.forecast(), last.norm), shape),
      "forecast", shape, "horizons * targets forecasts, horizon-major");
  return graph_.Finish("encoder", model::EncoderConfigToJson(config_));
}

std::string EncoderGraph::Linear(const std::string& name,
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

std::string EncoderGraph::Norm(const std::string& name,
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

EncoderGraph::Normed EncoderGraph::AddAndNorm(const std::string& name,
                                              const NormParameters& norm,
                                              const std::string& stream,
                                              const std::string& addend) {
  if (addend.empty()) return {stream, Norm(name, norm, stream)};
  if (!runtime_) {
    const std::string sum = graph_.Apply("Add", {stream, addend});
    return {sum, Norm(name, norm, sum)};
  }
  const auto width = static_cast<size_t>(config_.width);
  const std::string inputs[] = {
      Reshape(stream, {-1, length_, config_.width}),
      Reshape(addend, {-1, length_, config_.width}),
      graph_.Constant(name + ".scale", {config_.width}, {norm.scale, width}),
      graph_.Constant(name + ".shift", {config_.width}, {norm.shift, width})};
  const std::vector<std::string> outputs =
      graph_.ApplyAll("SkipLayerNormalization", inputs, 4,
                      {{"epsilon", kNormEpsilon}}, kOnnxRuntimeDomain);
  return {Reshape(outputs[3], {-1, config_.width}),
          Reshape(outputs[0], {-1, config_.width})};
}

std::string EncoderGraph::Stem(const std::string& input) {
  const int past = config_.stem_taps - 1;
  std::string taps = input;
  if (past > 0) {
    const std::string padded =
        graph_.Apply("Pad", {input, graph_.Integers({0, past, 0, 0, 0, 0})});
    std::vector<std::string> slices;
    for (int64_t k = 0; k <= past; ++k) {
      slices.push_back(graph_.Apply(
          "Slice", {padded, graph_.Integers({k}),
                    graph_.Integers({k + length_}), graph_.Integers({1})}));
    }
    taps = graph_.ApplyAll("Concat", slices, 1, {{"axis", int64_t{2}}}).front();
  }
  const std::string rows = Reshape(taps, {-1, config_.tap_columns()});
  const model::StemParameters& stem = parameters_.stem();
  std::string linear = Linear("stem.linear", stem.linear, rows);
  if (stem.hidden.outputs == 0) return linear;
  const std::string active =
      graph_.Apply("Gelu", {Linear("stem.hidden", stem.hidden, rows)});
  return graph_.Apply("Add",
                      {linear, Linear("stem.output", stem.output, active)});
}

void EncoderGraph::AddAngles() {
  model::RotaryAngles angles;
  model::ComputeAngles(config_, positions_, angles);
  const int64_t half = config_.query_width / 2;
  const std::vector<int64_t> shape =
      runtime_ ? std::vector<int64_t>{length_, half}
               : std::vector<int64_t>{1, length_, 1, half};
  graph_.Constant("cosine", shape, angles.cosine.floats());
  graph_.Constant("sine", shape, angles.sine.floats());
}

std::string EncoderGraph::Attention(const std::string& name, size_t layer,
                                    const std::string& normed,
                                    const std::string& source) {
  const AttentionParameters& attention = parameters_.layers()[layer].attention;
  const float scale = 1 / std::sqrt(static_cast<float>(config_.query_width));
  const std::string query =
      Linear(name + "query", attention.query, normed, scale);
  const std::string key = Linear(name + "key", attention.key, source);
  const std::string value = Linear(name + "value", attention.value, source);
  const std::string attended = runtime_
                                   ? AttendFused(name, layer, query, key, value)
                                   : Attend(name, layer, query, key, value);
  return Linear(name + "output", attention.output,
                Reshape(attended, {-1, config_.value_columns()}));
}

std::string EncoderGraph::Attend(const std::string& name, size_t layer,
                                 const std::string& query,
                                 const std::string& key,
                                 const std::string& value) {
  const auto heads = [&](const std::string& rows, int64_t width) {
    return Reshape(rows, {-1, length_, config_.heads, width});
  };
  const auto permuted = [&](const std::string& x, std::vector<int64_t> order) {
    return graph_.Apply("Transpose", {x}, {{"perm", std::move(order)}});
  };
  std::string q = Turn(heads(query, config_.query_width));
  std::string k = Turn(heads(key, config_.query_width));
  q = permuted(q, {0, 2, 1, 3});
  k = WithNothing(permuted(k, {0, 2, 3, 1}), 3, 4);
  const std::string v = WithNothing(
      permuted(heads(value, config_.value_width), {0, 2, 1, 3}), 2, 4);
  const std::string scores =
      graph_.Apply("Add", {graph_.Apply("MatMul", {q, k}), Mask(name, layer)});
  const std::string weights =
      graph_.Apply("Softmax", {scores}, {{"axis", int64_t{-1}}});
  return permuted(graph_.Apply("MatMul", {weights, v}), {0, 2, 1, 3});
}

std::string EncoderGraph::AttendFused(const std::string& name, size_t layer,
                                      const std::string& query,
                                      const std::string& key,
                                      const std::string& value) {
  const int64_t query_columns = config_.query_columns();
  const std::string q = TurnFused(Reshape(query, {-1, length_, query_columns}));
  const std::string k = TurnFused(Reshape(key, {-1, length_, query_columns}));
  const std::string v = Reshape(value, {-1, length_, config_.value_columns()});
  const bool causal_alone = !config_.null_logit && !config_.distance_bias &&
                            config_.layers[layer].reach >= length_;
  std::vector<OnnxAttribute> attributes = {
      {"num_heads", int64_t{config_.heads}}, {"scale", 1.0F}};
  if (causal_alone) attributes.push_back({"unidirectional", int64_t{1}});
  return graph_.Apply("MultiHeadAttention",
                      {q, WithNothing(k, 1, 3), WithNothing(v, 1, 3), "", "",
                       causal_alone ? "" : Mask(name, layer)},
                      attributes, kOnnxRuntimeDomain);
}

std::string EncoderGraph::Turn(const std::string& heads) {
  if (!config_.rotary) return heads;
  const std::vector<std::string> halves =
      graph_.ApplyAll("Split", std::span(&heads, 1), 2,
                      {{"axis", int64_t{3}}, {"num_outputs", int64_t{2}}});
  const auto times = [&](const std::string& half, const char* angles) {
    return graph_.Apply("Mul", {half, angles});
  };
  const std::string low = graph_.Apply(
      "Sub", {times(halves[0], "cosine"), times(halves[1], "sine")});
  const std::string high = graph_.Apply(
      "Add", {times(halves[0], "sine"), times(halves[1], "cosine")});
  return graph_.Apply("Concat", {low, high}, {{"axis", int64_t{3}}});
}

std::string EncoderGraph::TurnFused(const std::string& columns) {
  if (!config_.rotary) return columns;
  return graph_.Apply("RotaryEmbedding",
                      {columns, graph_.Integers({0}), "cosine", "sine"}, {},
                      kOnnxRuntimeDomain);
}

std::string EncoderGraph::WithNothing(const std::string& value, size_t axis,
                                      size_t rank) {
  if (!config_.null_logit) return value;
  std::vector<int64_t> pads(2 * rank, 0);
  pads[rank + axis] = 1;
  return graph_.Apply("Pad", {value, graph_.Integers(pads)});
}

// What is added to the scores: [1, heads, N, keys], or of one head for all
// where nothing tells them apart.
std::string EncoderGraph::Mask(const std::string& name, size_t layer) {
  const LayerConfig& shape = config_.layers[layer];
  const model::ScoreMask mask(config_, shape,
                              parameters_.layers()[layer].attention);
  const bool alike = !config_.null_logit && !config_.distance_bias;
  const int64_t heads = alike ? 1 : config_.heads;
  const int64_t keys = length_ + (config_.null_logit ? 1 : 0);
  const int64_t columns = model::ScoreMask::Columns(length_);
  const model::KeyRun run = {0, length_, positions_.data(), 0};
  std::vector<float> rows(static_cast<size_t>(config_.heads * columns));
  std::vector<float> values(static_cast<size_t>(heads * length_ * keys));
  for (int64_t q = 0; q < length_; ++q) {
    mask.Fill({q, positions_[static_cast<size_t>(q)]}, {&run, 1}, length_,
              rows.data(), columns);
    for (int64_t head = 0; head < heads; ++head) {
      std::copy_n(rows.data() + head * columns, keys,
                  values.data() + (head * length_ + q) * keys);
    }
  }
  return graph_.Constant(name + "mask", {1, heads, length_, keys}, values);
}

}  // namespace

absl::StatusOr<onnx::ModelProto> EncoderToOnnx(const EncoderConfig& config,
                                               const Parameters& parameters,
                                               const OnnxOptions& options) {
  if (options.length < 1) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the length of an exported window is %d; it must be 1 or more",
        options.length));
  }
  if (!config.causal) {
    return absl::InvalidArgumentError(
        "only causal encoders are exported; this one sees later instants");
  }
  const double length = options.length;
  const double bytes = 4.0 * (static_cast<double>(parameters.values().size()) +
                              static_cast<double>(config.layers.size()) *
                                  config.heads * length * (length + 1) +
                              length * config.query_width);
  if (bytes > static_cast<double>(kMaxConstantBytes)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "a window of %d instants makes constants of %.0f MiB, over %d MiB; "
        "export a shorter one",
        options.length, bytes / (1 << 20), kMaxConstantBytes >> 20));
  }
  return EncoderGraph(config, parameters, options).Build();
}

}  // namespace telltale::server
