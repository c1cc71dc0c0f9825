#pragma once

#include "absl/status/statusor.h"

#include "model/encoder_config.h"
#include "model/parameters.h"
#include "proto/onnx/onnx.pb.h"

namespace telltale::server {

// Which operations an exported graph may use.
enum class OnnxOperations {
  kStandard,  // ONNX's own, operator set 20: any engine
  // ONNX Runtime's own attention (of whole windows) and rotary positions
  // besides: that engine alone, and a tenth faster there.
  kRuntime,
};

struct OnnxOptions {
  int length = 0;  // N: instants of a window
  OnnxOperations operations = OnnxOperations::kStandard;
};

// The encoder as an ONNX graph over whole windows: `input` [batch, N, I], the
// columns of input_encoding.h, to `forecast` [batch, N, output_width()], the
// forecasts by horizon and then a verdict's logit if the encoder has one, as
// Encoder::Forward computes each window by itself at regular positions. Masks,
// distance biases and rotary angles are constants of the graph.
//
// kInvalidArgument: a length below 1, an encoder that is not causal, or
// constants that would take more than 512 MiB.
absl::StatusOr<onnx::ModelProto> EncoderToOnnx(
    const model::EncoderConfig& config, const model::Parameters& parameters,
    const OnnxOptions& options);

// The encoder as an ONNX graph over the next instant of each of a batch of
// streams, as Encoder::Advance computes it once a stream is as long as each
// layer's reach R and regularly sampled:
//   input        [batch, stem_taps * I]: the last instants, the latest last
//   cosine, sine [batch, 1, 1, query_width / 2], only with rotary positions:
//                of the instant's position (rotary.h)
//   layer.<n>.past_key    [batch, H, R - 1, query_width], the oldest first
//   layer.<n>.past_value  [batch, H, R - 1, value_width]
// to `forecast` [batch, output_width()] and, for the next step, layer.<n>.key
// and layer.<n>.value, shaped as the past ones.
//
// kInvalidArgument: an encoder that is not causal, or a reach of 1.
absl::StatusOr<onnx::ModelProto> EncoderStepToOnnx(
    const model::EncoderConfig& config, const model::Parameters& parameters,
    OnnxOperations operations = OnnxOperations::kStandard);

}  // namespace telltale::server
