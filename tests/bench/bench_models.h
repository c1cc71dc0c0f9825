#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "model/checkpoint/checkpoint.h"
#include "model/encoder_config.h"
#include "model/matrix.h"
#include "model/parameters.h"

namespace telltale::bench {

// An encoder that is measured, and the windows that it is measured on.
struct BenchModel {
  model::EncoderConfig config;
  model::Parameters parameters;
  int length = 0;  // instants of a window
};

// `default`: what the checkpoint holds, over windows as long as its context.
// The others have drawn parameters and the textbook's layers, each reaching
// over the whole window: `large` (width 128, 8 heads, feed-forward 512, 3
// layers, 128 instants of 25 channels), `long` (the same, 512 instants) and
// `small` (width 64, 4 heads, feed-forward 256, 2 layers, 128 instants of 25
// channels).
//
// Besides, small ones that differ in what an exported graph can differ in:
// `case-textbook`, `case-rotary`, `case-bands`, `case-layer-keys`,
// `case-no-null` and `case-verdict`.
//
// kInvalidArgument: another name; the errors of Checkpoint::Load.
absl::StatusOr<std::unique_ptr<BenchModel>> MakeBenchModel(
    const std::string& name, const std::string& checkpoint_path);

// Standard normal.
model::Matrix NormalMatrix(int64_t rows, int64_t columns, uint64_t seed);

// Writes NAME.onnx, NAME.runtime.onnx, NAME.step.onnx and
// NAME.runtime.step.onnx (onnx_encoder.h), and NAME.safetensors: the
// configuration as metadata `encoder`, every parameter as parameter.<name>, and
// two windows `input` with our `forecast` of each, [2 * length, columns].
absl::Status WriteBenchModel(const std::string& name, const BenchModel& model,
                             const std::string& folder);

}  // namespace telltale::bench
