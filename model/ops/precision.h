#pragma once

#include <string_view>

#include "absl/status/statusor.h"

namespace telltale::model {

// In what precision the products of a forecast are computed. Sums, norms,
// softmax and what is kept of a stream are float32 in all of them.
enum class Precision {
  kFloat32,
  kBfloat16,  // factors are rounded to 8 bits of mantissa
};

std::string_view PrecisionName(Precision precision);  // "f32", "bf16"

// Whether this processor, as far as oneDNN may use it (ONEDNN_MAX_CPU_ISA),
// computes in that precision faster than in float32.
bool IsSupported(Precision precision);

// What a user asks for: "f32", "bf16", or "auto", the fastest that is
// supported. kInvalidArgument: another name. kUnimplemented: not on this
// processor.
absl::StatusOr<Precision> ChoosePrecision(std::string_view name);

}  // namespace telltale::model
