#pragma once

#include <fstream>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace telltale::data {

// A file to write. Not thread-safe.
class OutputFile {
 public:
  // A file that appears whole or not at all: it is written beside its place,
  // and put there when it is closed. What is no regular file, such as a pipe or
  // /dev/stdout, is written as it is. kNotFound, kPermissionDenied, kUnknown:
  // the system's reason is in the message.
  static absl::StatusOr<OutputFile> Create(const std::string& path);

  // One that others may read while it grows. Errors as above.
  static absl::StatusOr<OutputFile> CreateInPlace(const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  // Leaves no trace of a file that has not been closed.
  ~OutputFile();

  std::ostream& stream() { return file_; }
  const std::string& path() const { return path_; }

  // Puts the file in its place. kDataLoss: some earlier write, or this one,
  // failed; what stood there before still does, unless it was written in place.
  absl::Status Close();

 private:
  OutputFile(std::ofstream file, std::string path, std::string beside);

  void Discard();

  std::ofstream file_;
  std::string path_;
  std::string beside_;  // where it is written; empty: in its place, or closed
};

}  // namespace telltale::data
