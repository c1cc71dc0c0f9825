#include "server/cli/onnx_encoder.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "model/layers/rotary.h"
#include "model/layers/score_mask.h"
#include "model/matrix.h"
#include "server/cli/onnx_graph.h"
#include "server/cli/onnx_layers.h"

namespace telltale::server {
namespace {

using model::EncoderConfig;
using model::LayerConfig;
using model::Parameters;

constexpr int64_t kMaxConstantBytes = int64_t{512} << 20;

std::string ForecastMeaning(const EncoderConfig& config) {
  return absl::StrCat("horizons * targets forecasts, horizon-major",
                      config.verdict ? ", then the verdict's logit" : "");
}

// Rows are those of all windows, [batch * N, columns].
class WindowGraph {
 public:
  WindowGraph(const EncoderConfig& config, const Parameters& parameters,
              const OnnxOptions& options)
      : config_(config),
        parameters_(parameters),
        length_(options.length),
        runtime_(options.operations == OnnxOperations::kRuntime),
        positions_(static_cast<size_t>(options.length)),
        layers_(config, parameters),
        graph_(layers_.graph()) {
    std::iota(positions_.begin(), positions_.end(), 0.0);
  }

  onnx::ModelProto Build();

 private:
  // Lays the last instants of each side by side.
  std::string Taps(const std::string& input);
  void AddAngles();
  // Attention over whole windows, by standard operations or by those of ONNX
  // Runtime; [batch, N, H * value_width] in any shape.
  std::string Attend(size_t layer, const OnnxLayers::Projected& rows);
  std::string AttendFused(size_t layer, const OnnxLayers::Projected& rows);
  std::string TurnFused(const std::string& rows);
  // Appends a key or value of zeros along `axis`, for attending to nothing.
  std::string WithNothing(const std::string& value, size_t axis, size_t rank);
  std::string Mask(size_t layer);

  const EncoderConfig& config_;
  const Parameters& parameters_;
  const int64_t length_;
  const bool runtime_;
  std::vector<double> positions_;
  OnnxLayers layers_;
  OnnxGraph& graph_;
};

onnx::ModelProto WindowGraph::Build() {
  graph_.AddInput("input",
                  std::vector<int64_t>{-1, length_, config_.input_width},
                  "encoded instants, one cadence apart");
  if (config_.rotary) AddAngles();
  const std::string stem = layers_.Stem(Taps("input"));
  std::string stream = stem;
  for (size_t i = 0; i < config_.layers.size(); ++i) {
    const OnnxLayers::Projected rows = layers_.Project(i, stream, stem);
    const std::string attended =
        runtime_ ? AttendFused(i, rows) : Attend(i, rows);
    stream = layers_.Finish(
        i, stream, layers_.Reshape(attended, {-1, config_.value_columns()}));
  }
  const std::vector<int64_t> shape = {-1, length_, config_.output_width()};
  graph_.AddOutput(layers_.Reshape(layers_.Forecast(stream), shape), "forecast",
                   shape, ForecastMeaning(config_));
  return graph_.Finish("encoder", model::EncoderConfigToJson(config_));
}

std::string WindowGraph::Taps(const std::string& input) {
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
  return layers_.Reshape(taps, {-1, config_.tap_columns()});
}

void WindowGraph::AddAngles() {
  model::RotaryAngles angles;
  model::ComputeAngles(model::RotaryFrequencies(config_), positions_, angles);
  const int64_t half = config_.query_width / 2;
  const std::vector<int64_t> shape =
      runtime_ ? std::vector<int64_t>{length_, half}
               : std::vector<int64_t>{1, length_, 1, half};
  graph_.Constant("cosine", shape, angles.cosine.floats());
  graph_.Constant("sine", shape, angles.sine.floats());
}

std::string WindowGraph::Attend(size_t layer,
                                const OnnxLayers::Projected& rows) {
  const auto heads = [&](const std::string& value, int64_t width) {
    return layers_.Reshape(value, {-1, length_, config_.heads, width});
  };
  const std::string query = layers_.Permute(
      layers_.Turn(heads(rows.query, config_.query_width)), {0, 2, 1, 3});
  const std::string key = layers_.Permute(
      layers_.Turn(heads(rows.key, config_.query_width)), {0, 2, 3, 1});
  const std::string value =
      layers_.Permute(heads(rows.value, config_.value_width), {0, 2, 1, 3});
  const std::string scores = graph_.Apply(
      "Add",
      {graph_.Apply("MatMul", {query, WithNothing(key, 3, 4)}), Mask(layer)});
  const std::string weights =
      graph_.Apply("Softmax", {scores}, {{"axis", int64_t{-1}}});
  return layers_.Permute(
      graph_.Apply("MatMul", {weights, WithNothing(value, 2, 4)}),
      {0, 2, 1, 3});
}

std::string WindowGraph::AttendFused(size_t layer,
                                     const OnnxLayers::Projected& rows) {
  const std::string query = TurnFused(rows.query);
  const std::string key = TurnFused(rows.key);
  const std::string value =
      layers_.Reshape(rows.value, {-1, length_, config_.value_columns()});
  const bool causal_alone = !config_.null_logit && !config_.distance_bias &&
                            config_.layers[layer].reach >= length_;
  std::vector<OnnxAttribute> attributes = {
      {"num_heads", int64_t{config_.heads}}, {"scale", 1.0F}};
  if (causal_alone) attributes.push_back({"unidirectional", int64_t{1}});
  return graph_.Apply("MultiHeadAttention",
                      {query, WithNothing(key, 1, 3), WithNothing(value, 1, 3),
                       "", "", causal_alone ? "" : Mask(layer)},
                      attributes, kOnnxRuntimeDomain);
}

std::string WindowGraph::TurnFused(const std::string& rows) {
  std::string columns =
      layers_.Reshape(rows, {-1, length_, config_.query_columns()});
  if (!config_.rotary) return columns;
  return graph_.Apply("RotaryEmbedding",
                      {columns, graph_.Integers({0}), "cosine", "sine"}, {},
                      kOnnxRuntimeDomain);
}

std::string WindowGraph::WithNothing(const std::string& value, size_t axis,
                                     size_t rank) {
  if (!config_.null_logit) return value;
  std::vector<int64_t> pads(2 * rank, 0);
  pads[rank + axis] = 1;
  return graph_.Apply("Pad", {value, graph_.Integers(pads)});
}

// What is added to the scores: [1, heads, N, keys], or of one head for all
// where nothing tells them apart.
std::string WindowGraph::Mask(size_t layer) {
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
  return graph_.Constant(absl::StrCat("layer.", layer, ".attention.mask"),
                         {1, heads, length_, keys}, values);
}

// Rows are those of the next instant of each stream, [batch, columns].
class StepGraph {
 public:
  StepGraph(const EncoderConfig& config, const Parameters& parameters,
            OnnxOperations operations)
      : config_(config),
        parameters_(parameters),
        runtime_(operations == OnnxOperations::kRuntime),
        layers_(config, parameters),
        graph_(layers_.graph()) {}

  onnx::ModelProto Build();

 private:
  std::string Attend(size_t layer, const OnnxLayers::Projected& rows);
  // The past of keys or values with the new one behind it; hands on all but
  // the oldest. With a null logit, zeros stand behind both.
  std::string Extend(const std::string& name, int64_t reach, int64_t width,
                     const std::string& heads);
  std::string Mask(size_t layer);
  // Rows of queries or keys as heads, [batch, H, 1, query_width], turned.
  std::string TurnedHeads(const std::string& rows);

  const EncoderConfig& config_;
  const Parameters& parameters_;
  const bool runtime_;
  OnnxLayers layers_;
  OnnxGraph& graph_;
  // With operations of ONNX Runtime: angles as its table, [batch, query_width
  // / 2], and each stream's place in it.
  std::string cosines_, sines_, places_;
};

onnx::ModelProto StepGraph::Build() {
  graph_.AddInput("input", std::vector<int64_t>{-1, config_.tap_columns()},
                  "the last encoded instants, one cadence apart");
  if (config_.rotary) {
    const std::vector<int64_t> shape = {-1, 1, 1, config_.query_width / 2};
    graph_.AddInput("cosine", shape, "of the position's angles");
    graph_.AddInput("sine", shape, "of the position's angles");
    if (runtime_) {
      cosines_ = layers_.Reshape("cosine", {-1, config_.query_width / 2});
      sines_ = layers_.Reshape("sine", {-1, config_.query_width / 2});
      const std::string batch = graph_.Apply(
          "Gather", {graph_.Apply("Shape", {"input"}), graph_.Integer(0)});
      places_ = layers_.Reshape(
          graph_.Apply("Range", {graph_.Integer(0), batch, graph_.Integer(1)}),
          {-1, 1});
    }
  }
  const std::string stem = layers_.Stem("input");
  std::string stream = stem;
  for (size_t i = 0; i < config_.layers.size(); ++i) {
    const std::string attended = Attend(i, layers_.Project(i, stream, stem));
    stream = layers_.Finish(i, stream, attended);
  }
  graph_.AddOutput(layers_.Forecast(stream), "forecast",
                   std::vector<int64_t>{-1, config_.output_width()},
                   ForecastMeaning(config_));
  return graph_.Finish("encoder_step", model::EncoderConfigToJson(config_));
}

std::string StepGraph::TurnedHeads(const std::string& rows) {
  const std::vector<int64_t> shape = {-1, config_.heads, 1,
                                      config_.query_width};
  if (!runtime_ || !config_.rotary) {
    return layers_.Turn(layers_.Reshape(rows, shape));
  }
  const std::string columns =
      layers_.Reshape(rows, {-1, 1, config_.query_columns()});
  return layers_.Reshape(
      graph_.Apply("RotaryEmbedding", {columns, places_, cosines_, sines_}, {},
                   kOnnxRuntimeDomain),
      shape);
}

std::string StepGraph::Attend(size_t layer, const OnnxLayers::Projected& rows) {
  const int64_t reach = config_.layers[layer].reach;
  const std::string name = absl::StrCat("layer.", layer, ".");
  const std::string keys =
      Extend(name + "key", reach, config_.query_width, TurnedHeads(rows.key));
  const std::string values = Extend(
      name + "value", reach, config_.value_width,
      layers_.Reshape(rows.value, {-1, config_.heads, 1, config_.value_width}));
  const std::string products = graph_.Apply(
      "MatMul", {TurnedHeads(rows.query), layers_.Permute(keys, {0, 1, 3, 2})});
  const std::string weights =
      graph_.Apply("Softmax", {graph_.Apply("Add", {products, Mask(layer)})},
                   {{"axis", int64_t{-1}}});
  return layers_.Reshape(graph_.Apply("MatMul", {weights, values}),
                         {-1, config_.value_columns()});
}

std::string StepGraph::Extend(const std::string& name, int64_t reach,
                              int64_t width, const std::string& heads) {
  const size_t part = name.rfind('.') + 1;
  const std::string past =
      absl::StrCat(name.substr(0, part), "past_", name.substr(part));
  const std::vector<int64_t> shape = {-1, config_.heads, reach - 1, width};
  graph_.AddInput(past, shape, "of the instants before, the oldest first");
  std::vector<std::string> parts = {past, heads};
  if (config_.null_logit) {
    const float zero = 0;
    parts.push_back(graph_.Apply(
        "Mul", {heads, graph_.Constant(name + ".nothing", {}, {&zero, 1})}));
  }
  std::string all =
      graph_.ApplyAll("Concat", parts, 1, {{"axis", int64_t{2}}}).front();
  graph_.AddOutput(
      graph_.Apply("Slice", {all, graph_.Integers({1}),
                             graph_.Integers({reach}), graph_.Integers({2})}),
      name, shape, "for the next step");
  return all;
}

// What is added to the scores of the instants that a query reaches, the oldest
// first: [1, heads, 1, keys].
std::string StepGraph::Mask(size_t layer) {
  const LayerConfig& shape = config_.layers[layer];
  const model::ScoreMask mask(config_, shape,
                              parameters_.layers()[layer].attention);
  const int64_t keys = shape.reach + (config_.null_logit ? 1 : 0);
  const int64_t columns = model::ScoreMask::Columns(shape.reach);
  std::vector<double> positions(static_cast<size_t>(shape.reach));
  std::iota(positions.begin(), positions.end(), 0.0);
  const model::KeyRun run = {0, shape.reach, positions.data(), 0};
  std::vector<float> rows(static_cast<size_t>(config_.heads * columns));
  mask.Fill({shape.reach - 1, positions.back()}, {&run, 1}, shape.reach,
            rows.data(), columns);
  std::vector<float> values;
  for (int64_t head = 0; head < config_.heads; ++head) {
    const float* row = rows.data() + head * columns;
    values.insert(values.end(), row, row + keys);
  }
  return graph_.Constant(absl::StrCat("layer.", layer, ".attention.mask"),
                         {1, config_.heads, 1, keys}, values);
}

absl::Status CheckCausal(const EncoderConfig& config) {
  if (config.causal) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "only causal encoders are exported; this one sees later instants");
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
  if (auto status = CheckCausal(config); !status.ok()) return status;
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
  return WindowGraph(config, parameters, options).Build();
}

absl::StatusOr<onnx::ModelProto> EncoderStepToOnnx(const EncoderConfig& config,
                                                   const Parameters& parameters,
                                                   OnnxOperations operations) {
  if (auto status = CheckCausal(config); !status.ok()) return status;
  for (const LayerConfig& layer : config.layers) {
    if (layer.reach > 1) continue;
    return absl::InvalidArgumentError(
        "a layer with a reach of 1 has no past to step from; it must be 2 or "
        "more");
  }
  return StepGraph(config, parameters, operations).Build();
}

}  // namespace telltale::server
