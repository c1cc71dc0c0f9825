#include "data/output_file.h"

#include <cerrno>
#include <system_error>

#include "absl/strings/str_format.h"

namespace telltale::data {

absl::StatusOr<std::ofstream> CreateFile(const std::string& path) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (file.is_open()) return file;
  const int error = errno;
  const std::string message = absl::StrFormat(
      "cannot create %s: %s", path, std::generic_category().message(error));
  if (error == ENOENT) return absl::NotFoundError(message);
  if (error == EACCES) return absl::PermissionDeniedError(message);
  return absl::UnknownError(message);
}

absl::Status CloseFile(std::ofstream& file, const std::string& path) {
  file.close();
  if (file) return absl::OkStatus();
  return absl::DataLossError(absl::StrFormat(
      "cannot write all of %s; is there room on the disk?", path));
}

}  // namespace telltale::data
