#include "tests/bench/bench_models.h"

#include <filesystem>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "model/checkpoint/file_io.h"
#include "model/checkpoint/safetensors.h"
#include "model/encoder.h"
#include "model/layers/elementwise.h"
#include "model/random.h"
#include "server/cli/onnx_encoder.h"
#include "tests/support/encoder_cases.h"

namespace telltale::bench {
namespace {

using model::EncoderConfig;
using model::Matrix;
using model::Parameters;

EncoderConfig Textbook(int width, int heads, int layers, int length) {
  EncoderConfig config;
  config.input_width = 25;
  config.targets = 25;
  config.horizons = {1};
  config.width = width;
  config.heads = heads;
  config.query_width = width / heads;
  config.value_width = width / heads;
  config.feed_forward = 4 * width;
  config.stem_taps = 1;
  config.stem_hidden = 0;
  config.distance_bias = false;
  config.null_logit = false;
  config.layers.assign(static_cast<size_t>(layers), {.reach = length});
  return config;
}

// Longer than any reach, so that bands begin and end within.
constexpr int kCaseLength = 45;

std::optional<EncoderConfig> SmallCase(std::string_view name) {
  EncoderConfig config = model::SmallConfig();
  if (name == "case-bands") return config;
  if (name == "case-textbook") return model::TextbookConfig();
  if (name == "case-rotary") {
    config = model::TextbookConfig();
    config.rotary = true;
  } else if (name == "case-layer-keys") {
    config.layers.back().key_source = model::KeySource::kLayer;
  } else if (name == "case-no-null") {
    config.null_logit = false;
    config.layers.back().blind_heads = 0;
  } else if (name == "case-verdict") {
    config.verdict = true;
  } else {
    return std::nullopt;
  }
  return config;
}

Parameters Draw(const EncoderConfig& config) {
  Parameters parameters(config, /*stand_ins=*/0);
  parameters.Initialize(1);
  model::Random random(2);
  for (float& value : parameters.values()) {
    value += static_cast<float>(0.02 * random.Normal());
  }
  return parameters;
}

absl::Status WriteOnnx(const absl::StatusOr<onnx::ModelProto>& onnx,
                       const std::filesystem::path& path) {
  if (!onnx.ok()) return onnx.status();
  return model::ReplaceFile(path, onnx->SerializeAsString());
}

}  // namespace

absl::StatusOr<std::unique_ptr<BenchModel>> MakeBenchModel(
    const std::string& name, const std::string& checkpoint_path) {
  if (name == "default") {
    auto checkpoint = model::Checkpoint::Load(checkpoint_path);
    if (!checkpoint.ok()) return checkpoint.status();
    const int length = checkpoint->config.context_length();
    return std::unique_ptr<BenchModel>(
        new BenchModel{std::move(checkpoint->config),
                       std::move(checkpoint->parameters), length});
  }
  if (auto config = SmallCase(name); config.has_value()) {
    Parameters parameters = model::RandomParameters(*config, 1);
    return std::unique_ptr<BenchModel>(
        new BenchModel{*std::move(config), std::move(parameters), kCaseLength});
  }
  EncoderConfig config;
  if (name == "large") config = Textbook(128, 8, 3, 128);
  if (name == "long") config = Textbook(128, 8, 3, 512);
  if (name == "small") config = Textbook(64, 4, 2, 128);
  if (config.input_width == 0) {
    return absl::InvalidArgumentError(absl::StrCat("no model '", name, "'"));
  }
  const int length = config.context_length();
  Parameters parameters = Draw(config);
  return std::unique_ptr<BenchModel>(
      new BenchModel{std::move(config), std::move(parameters), length});
}

Matrix NormalMatrix(int64_t rows, int64_t columns, uint64_t seed) {
  Matrix matrix(rows, columns);
  model::Random random(seed);
  for (float& value : matrix.floats()) {
    value = static_cast<float>(random.Normal());
  }
  return matrix;
}

absl::Status WriteBenchModel(const std::string& name, const BenchModel& model,
                             const std::string& folder) {
  const std::filesystem::path base = std::filesystem::path(folder) / name;
  for (const auto operations :
       {server::OnnxOperations::kStandard, server::OnnxOperations::kRuntime}) {
    const bool runtime = operations == server::OnnxOperations::kRuntime;
    const std::string kind = base.string() + (runtime ? ".runtime" : "");
    absl::Status status =
        WriteOnnx(server::EncoderToOnnx(
                      model.config, model.parameters,
                      {.length = model.length, .operations = operations}),
                  kind + ".onnx");
    if (!status.ok()) return status;
    status = WriteOnnx(
        server::EncoderStepToOnnx(model.config, model.parameters, operations),
        kind + ".step.onnx");
    if (!status.ok()) return status;
  }

  constexpr int64_t kWindows = 2;
  const EncoderConfig& config = model.config;
  const Matrix input =
      NormalMatrix(kWindows * model.length, config.input_width, 3);
  Matrix forecast(kWindows * model.length, config.output_width());
  model::Context context;
  const model::Encoder encoder(config, model.parameters);
  model::EncoderActivations activations;
  std::vector<double> positions(static_cast<size_t>(model.length));
  std::iota(positions.begin(), positions.end(), 0.0);
  for (int64_t i = 0; i < kWindows; ++i) {
    encoder.Forward(context, input.view().Rows(i * model.length, model.length),
                    positions, activations);
    Copy(activations.forecast.view(),
         forecast.view().Rows(i * model.length, model.length));
  }
  model::TensorFile file;
  file.metadata["encoder"] = model::EncoderConfigToJson(config);
  file.metadata["length"] = std::to_string(model.length);
  const auto add = [&](const std::string& tensor, std::vector<int64_t> shape,
                       std::span<const float> values) {
    file.tensors[tensor] = model::StoredTensor::Of(std::move(shape), values);
  };
  for (const model::NamedTensor& tensor : model.parameters.tensors()) {
    add("parameter." + tensor.name, tensor.shape,
        model.parameters.Tensor(tensor));
  }
  add("input", {input.rows(), input.columns()}, input.floats());
  add("forecast", {forecast.rows(), forecast.columns()}, forecast.floats());
  return file.Write(base.string() + ".safetensors");
}

}  // namespace telltale::bench
