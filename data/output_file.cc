#include "data/output_file.h"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_format.h"

#include "data/file_stream.h"

namespace telltale::data {
namespace {

// Whether there is no file yet, or one that another may take the place of.
bool IsReplaceable(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status =
      std::filesystem::status(path, error);
  // Names such as /dev/stdout may lead to a regular file that somebody else
  // has open.
  const bool device = path.string().starts_with("/dev/");
  return !device && (status.type() == std::filesystem::file_type::not_found ||
                     status.type() == std::filesystem::file_type::regular);
}

}  // namespace

absl::StatusOr<OutputFile> OutputFile::Create(const std::string& path) {
  std::string target = path;
  std::string beside;
  if (IsReplaceable(path)) {
    // A link stays a link: the file that it leads to is replaced.
    std::error_code error;
    const auto led_to = std::filesystem::weakly_canonical(path, error);
    if (!error) target = led_to.string();
    // Two processes that write the same file must not share this one.
    beside = absl::StrFormat("%s.%d.part", target, ::getpid());
  }
  absl::StatusOr<std::ofstream> file =
      CreateFile(beside.empty() ? target : beside);
  if (!file.ok()) return file.status();
  return OutputFile(*std::move(file), std::move(target), std::move(beside));
}

absl::StatusOr<OutputFile> OutputFile::CreateInPlace(const std::string& path) {
  absl::StatusOr<std::ofstream> file = CreateFile(path);
  if (!file.ok()) return file.status();
  return OutputFile(*std::move(file), path, "");
}

OutputFile::OutputFile(std::ofstream file, std::string path, std::string beside)
    : file_(std::move(file)),
      path_(std::move(path)),
      beside_(std::move(beside)) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : file_(std::move(other.file_)),
      path_(std::move(other.path_)),
      beside_(std::exchange(other.beside_, {})) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this == &other) return *this;
  Discard();
  file_ = std::move(other.file_);
  path_ = std::move(other.path_);
  beside_ = std::exchange(other.beside_, {});
  return *this;
}

OutputFile::~OutputFile() { Discard(); }

void OutputFile::Discard() {
  std::error_code ignored;
  if (!beside_.empty()) std::filesystem::remove(beside_, ignored);
}

absl::Status OutputFile::Close() {
  file_.close();
  if (!file_) {
    return absl::DataLossError(absl::StrFormat(
        "cannot write all of %s; is there room on the disk?", path_));
  }
  if (beside_.empty()) return absl::OkStatus();
  std::error_code error;
  // As the file that it replaces.
  const auto before = std::filesystem::status(path_, error);
  if (before.type() == std::filesystem::file_type::regular) {
    std::filesystem::permissions(beside_, before.permissions(), error);
  }
  std::filesystem::rename(beside_, path_, error);
  if (error) {
    return absl::UnknownError(absl::StrFormat("cannot put %s in its place: %s",
                                              path_, error.message()));
  }
  beside_.clear();
  return absl::OkStatus();
}

}  // namespace telltale::data
