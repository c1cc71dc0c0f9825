#pragma once

#include "absl/status/statusor.h"

#include "model/encoder_config.h"
#include "model/parameters.h"
#include "proto/onnx/onnx.pb.h"

namespace telltale::server {

// Which operations an exported graph may use.
enum class OnnxOperations {
  kStandard,  // ONNX's own, operator set 20: any engine
  // ONNX Runtime's fused attention, rotary positions and residual norms
  // besides: that engine alone, and faster there.
  kRuntime,
};

struct OnnxOptions {
  int length = 0;  // N: instants of a window
  OnnxOperations operations = OnnxOperations::kStandard;
};

// The encoder as an ONNX graph over whole windows: `input` [batch, N, I], the
// columns of input_encoding.h, to `forecast` [batch, N, output_width()], as
// Encoder::Forward computes each window by itself at regular positions. Masks,
// distance biases and rotary angles are constants of the graph.
//
// kInvalidArgument: a length below 1, an encoder that is not causal, or
// constants that would take more than 512 MiB.
absl::StatusOr<onnx::ModelProto> EncoderToOnnx(
    const model::EncoderConfig& config, const model::Parameters& parameters,
    const OnnxOptions& options);

}  // namespace telltale::server
