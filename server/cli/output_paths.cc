#include "server/cli/output_paths.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_format.h"

namespace telltale::server {
namespace {

namespace fs = std::filesystem;

// As many as Linux follows.
constexpr int kMostLinks = 40;

// The one name of a file, whether it exists or not. weakly_canonical leaves as
// they are a relative name of nothing, and a link to nothing, which leads to a
// file once that has been written.
fs::path Resolved(const std::string& path) {
  std::error_code error;
  fs::path file = fs::absolute(path, error);
  for (int i = 0; i < kMostLinks && fs::is_symlink(file, error); ++i) {
    file = file.parent_path() / fs::read_symlink(file, error);
  }
  const fs::path resolved = fs::weakly_canonical(file, error);
  return error ? file.lexically_normal() : resolved;
}

bool CanBeWritten(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return false;
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return access(path.c_str(), W_OK) == 0;  // such as /dev/stdout
  }
  // The file is written beside its place and then put there.
  const fs::path folder = Resolved(path).parent_path();
  return fs::is_directory(folder, error) && access(folder.c_str(), W_OK) == 0;
}

// The files that an input stands for.
std::vector<fs::path> FilesOf(const std::string& input) {
  std::error_code error;
  // A comma may also be part of a name.
  if (fs::exists(input, error)) return {Resolved(input)};
  std::vector<fs::path> files;
  size_t begin = 0;
  while (begin < input.size()) {
    const size_t comma = std::min(input.find(',', begin), input.size());
    if (comma > begin) {
      files.push_back(Resolved(input.substr(begin, comma - begin)));
    }
    begin = comma + 1;
  }
  return files;
}

absl::Status Refuse(const OutputPath& output, const std::string& why) {
  return absl::InvalidArgumentError(
      absl::StrFormat("%s: %s %s", output.flag, output.path, why));
}

}  // namespace

absl::Status CheckOutputs(std::span<const OutputPath> outputs,
                          std::span<const std::string> inputs) {
  std::vector<fs::path> read;
  for (const std::string& input : inputs) {
    const std::vector<fs::path> files = FilesOf(input);
    read.insert(read.end(), files.begin(), files.end());
  }
  std::vector<fs::path> written;
  for (const OutputPath& output : outputs) {
    if (!CanBeWritten(output.path)) {
      return Refuse(output,
                    "cannot be written; give a file in a folder that exists "
                    "and can be written");
    }
    const fs::path file = Resolved(output.path);
    if (std::find(read.begin(), read.end(), file) != read.end()) {
      return Refuse(output, "is read as well; give another name");
    }
    const auto same = std::find(written.begin(), written.end(), file);
    if (same != written.end()) {
      const auto first = static_cast<size_t>(same - written.begin());
      return Refuse(output,
                    absl::StrFormat("is what %s names; give another name",
                                    outputs[first].flag));
    }
    written.push_back(file);
  }
  return absl::OkStatus();
}

}  // namespace telltale::server
