#pragma once

#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace telltale::data {

// Opens a file for reading. kNotFound, kPermissionDenied, kUnknown: the
// system's reason is in the message.
absl::StatusOr<std::ifstream> OpenFile(const std::string& path);

// Creates or empties a file for writing. Errors as OpenFile.
absl::StatusOr<std::ofstream> CreateFile(const std::string& path);

}  // namespace telltale::data
