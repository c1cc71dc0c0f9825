#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace telltale::data {

// What a .npy file says of its array.
struct NpyHeader {
  std::string descr;  // the type, for instance "<f4"
  bool fortran_order = false;
  std::vector<int64_t> shape;  // none negative
};

// Parses the dictionary of a .npy file, a Python literal. kInvalidArgument says
// where it stops making sense.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view text);

}  // namespace telltale::data
