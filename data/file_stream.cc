#include "data/file_stream.h"

#include <cerrno>
#include <string_view>
#include <system_error>

#include "absl/strings/str_format.h"

namespace telltale::data {
namespace {

absl::Status SystemError(std::string_view what, const std::string& path,
                         int error) {
  const std::string message = absl::StrFormat(
      "cannot %s %s: %s", what, path, std::generic_category().message(error));
  if (error == ENOENT) return absl::NotFoundError(message);
  if (error == EACCES) return absl::PermissionDeniedError(message);
  return absl::UnknownError(message);
}

}  // namespace

absl::StatusOr<std::ifstream> OpenFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return SystemError("open", path, errno);
  return file;
}

absl::StatusOr<std::ofstream> CreateFile(const std::string& path) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file.is_open()) return SystemError("create", path, errno);
  return file;
}

}  // namespace telltale::data
