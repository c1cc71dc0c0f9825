#include "model/ops/precision.h"

#include <string>

#include "absl/strings/str_format.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace telltale::model {

std::string_view PrecisionName(Precision precision) {
  return precision == Precision::kFloat32 ? "f32" : "bf16";
}

bool IsSupported(Precision precision) {
  if (precision == Precision::kFloat32) return true;
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (isa & wanted) == wanted;
}

absl::StatusOr<Precision> ChoosePrecision(std::string_view name) {
  if (name == "auto") {
    return IsSupported(Precision::kBfloat16) ? Precision::kBfloat16
                                             : Precision::kFloat32;
  }
  for (const Precision precision :
       {Precision::kFloat32, Precision::kBfloat16}) {
    if (PrecisionName(precision) != name) continue;
    if (IsSupported(precision)) return precision;
    return absl::UnimplementedError(absl::StrFormat(
        "this processor has no instructions for %s, or ONEDNN_MAX_CPU_ISA "
        "forbids them; take f32 or auto",
        std::string(name)));
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("'%s' is not a precision; there are auto, f32 and bf16",
                      std::string(name)));
}

}  // namespace telltale::model
