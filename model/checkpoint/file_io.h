#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace telltale::model {

// The whole content of a regular file, read at once, so that a file replaced
// or cut short meanwhile cannot harm its reader. A symbolic link is followed,
// because mounted configurations are links.
//
// kNotFound, kPermissionDenied and the like: as the system reported it.
// kInvalidArgument: not a regular file, or more than `max_bytes`.
absl::StatusOr<std::string> ReadFile(const std::filesystem::path& path,
                                     size_t max_bytes);

// Makes `bytes` the content of the file: written beside it, flushed to the
// disk and renamed, so that a crash at any moment leaves the old file or the
// new one. An error leaves the old file as it was. What is no regular file,
// such as a pipe or /dev/stdout, is written as it is.
absl::Status ReplaceFile(const std::filesystem::path& path,
                         std::string_view bytes);

}  // namespace telltale::model
