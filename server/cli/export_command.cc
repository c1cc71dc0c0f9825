// telltale export: writes a model's encoder in a form that other engines run.

#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include <CLI/CLI.hpp>

#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/file_io.h"
#include "server/cli/commands.h"
#include "server/cli/failure.h"
#include "server/cli/onnx_encoder.h"
#include "server/cli/output_paths.h"

namespace telltale::server {
namespace {

constexpr int kFailure = 1;
constexpr int kMaxLength = 4096;

struct ExportFlags {
  std::string model;
  std::string onnx;
  int length = 0;
  bool runtime_operations = false;
  bool step = false;
};

struct Exported {
  onnx::ModelProto onnx;
  std::string shapes;  // for people
};

OnnxOperations Operations(const ExportFlags& flags) {
  return flags.runtime_operations ? OnnxOperations::kRuntime
                                  : OnnxOperations::kStandard;
}

absl::StatusOr<Exported> ExportStep(const model::Checkpoint& checkpoint,
                                    const ExportFlags& flags) {
  auto onnx = EncoderStepToOnnx(checkpoint.config, checkpoint.parameters,
                                Operations(flags));
  if (!onnx.ok()) return onnx.status();
  return Exported{
      *std::move(onnx),
      absl::StrFormat("input [batch, %d], forecast [batch, %d]; keys and "
                      "values of %d layers go round",
                      checkpoint.config.tap_columns(),
                      checkpoint.config.output_width(),
                      checkpoint.config.layers.size())};
}

absl::StatusOr<Exported> ExportWindows(const model::Checkpoint& checkpoint,
                                       const ExportFlags& flags) {
  const OnnxOptions options = {
      .length =
          flags.length > 0 ? flags.length : checkpoint.config.context_length(),
      .operations = Operations(flags)};
  auto onnx = EncoderToOnnx(checkpoint.config, checkpoint.parameters, options);
  if (!onnx.ok()) return onnx.status();
  return Exported{
      *std::move(onnx),
      absl::StrFormat("input [batch, %d, %d], forecast [batch, %d, %d]",
                      options.length, checkpoint.config.input_width,
                      options.length, checkpoint.config.output_width())};
}

absl::Status Export(const ExportFlags& flags) {
  const OutputPath output = {"--onnx", flags.onnx};
  absl::Status status = CheckOutputs({&output, 1}, {&flags.model, 1});
  if (!status.ok()) return status;
  const auto checkpoint = model::Checkpoint::Load(flags.model);
  if (!checkpoint.ok()) return checkpoint.status();
  const auto exported = flags.step ? ExportStep(*checkpoint, flags)
                                   : ExportWindows(*checkpoint, flags);
  if (!exported.ok()) return exported.status();
  status = model::ReplaceFile(flags.onnx, exported->onnx.SerializeAsString());
  if (!status.ok()) return status;
  std::cout << flags.onnx << ": " << exported->shapes << '\n';
  return absl::OkStatus();
}

}  // namespace

void AddExportCommand(CLI::App& app, CommandResult& result) {
  CLI::App* command = app.add_subcommand(
      "export",
      "Write a model's encoder for other engines: encoded instants in, their "
      "forecasts out");
  auto flags = std::make_shared<ExportFlags>();  // shared with the callback
  command
      ->add_option("--model", flags->model, "File that `telltale train` wrote")
      ->option_text("FILE")
      ->required();
  command->add_option("--onnx", flags->onnx, "The ONNX file to write")
      ->option_text("FILE")
      ->required();
  CLI::Option* length =
      command
          ->add_option("--length", flags->length,
                       "Instants of a window, regularly sampled [the model's "
                       "context]")
          ->option_text("N")
          ->check(CLI::Range(1, kMaxLength));
  command->add_flag(
      "--onnx-runtime", flags->runtime_operations,
      "Use ONNX Runtime's own operations besides the standard ones: a tenth "
      "faster there, and for nothing else");
  command
      ->add_flag("--step", flags->step,
                 "The next instant of many streams, with the keys and values "
                 "of those before handed on, in place of whole windows")
      ->excludes(length);
  command->callback([flags, &result] {
    const absl::Status status = Export(*flags);
    if (status.ok()) return;
    PrintFailure(status);
    result.exit_code = kFailure;
  });
}

}  // namespace telltale::server
