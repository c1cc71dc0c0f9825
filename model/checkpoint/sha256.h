#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace telltale::model {

// SHA-256 (FIPS 180-4) of `bytes` as 64 lower-case hex digits. kInternal: the
// cryptographic library refused, for instance for want of memory.
absl::StatusOr<std::string> Sha256Hex(std::string_view bytes);

}  // namespace telltale::model
