#include "model/checkpoint/file_io.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_format.h"
#include <sys/stat.h>

namespace telltale::model {
namespace {

// An open file, closed at the end of its scope.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

// Removes a file at the end of its scope, unless it was kept.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string name) : name_(std::move(name)) {}
  ~TemporaryFile() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void Keep() { name_.clear(); }

 private:
  std::string name_;
};

absl::Status SystemError(const char* what, const std::filesystem::path& path) {
  const int error = errno;
  return absl::ErrnoToStatus(error,
                             absl::StrFormat("%s %s", what, path.string()));
}

absl::Status WriteAll(int fd, std::string_view bytes,
                      const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return SystemError("cannot write", path);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

// The permissions that a new file in place of `path` should have: those of the
// file that it replaces.
mode_t PermissionsOf(const std::filesystem::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return 0644;
  return status.st_mode & 0777;
}

// Whether there is no file yet, or one that another may take the place of.
// Names such as /dev/stdout may lead to a regular file that somebody else has
// open.
bool IsReplaceable(const std::filesystem::path& path) {
  struct stat status = {};
  if (path.native().starts_with("/dev/")) return false;
  return ::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

// A pipe or a device holds nothing to keep, and has no room beside it.
absl::Status WriteInPlace(const std::filesystem::path& path,
                          std::string_view bytes) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return SystemError("cannot open", path);
  return WriteAll(file.get(), bytes, path);
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::filesystem::path& path,
                                     size_t max_bytes) {
  // Without O_NONBLOCK opening a pipe would wait for its writer.
  const FileDescriptor file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return SystemError("cannot open", path);
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) {
    return SystemError("cannot examine", path);
  }
  if (!S_ISREG(status.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s is not a regular file", path.string()));
  }
  const size_t size = static_cast<size_t>(status.st_size);
  if (size > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s has %d bytes; at most %d are read", path.string(),
                        size, max_bytes));
  }
  std::string bytes(size, '\0');
  size_t filled = 0;
  while (filled < size) {
    const ssize_t count =
        ::read(file.get(), bytes.data() + filled, size - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError("cannot read", path);
    if (count == 0) break;
    filled += static_cast<size_t>(count);
  }
  bytes.resize(filled);
  return bytes;
}

absl::Status ReplaceFile(const std::filesystem::path& path,
                         std::string_view bytes) {
  if (!IsReplaceable(path)) return WriteInPlace(path, bytes);
  // Two processes that write the same file must not share a temporary one.
  const std::string beside =
      absl::StrFormat("%s.%d.part", path.string(), ::getpid());
  const mode_t permissions = PermissionsOf(path);
  {
    const FileDescriptor file(::open(
        beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
        permissions));
    if (!file.is_open()) return SystemError("cannot create", beside);
    TemporaryFile temporary(beside);
    if (absl::Status status = WriteAll(file.get(), bytes, beside);
        !status.ok()) {
      return status;
    }
    if (::fsync(file.get()) != 0) return SystemError("cannot flush", beside);
    if (::rename(beside.c_str(), path.c_str()) != 0) {
      return SystemError("cannot put in place", path);
    }
    temporary.Keep();
  }
  // The rename itself lives in the folder.
  const std::filesystem::path folder =
      path.has_parent_path() ? path.parent_path() : ".";
  const FileDescriptor directory(
      ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) return SystemError("cannot open", folder);
  if (::fsync(directory.get()) != 0) return SystemError("cannot flush", folder);
  return absl::OkStatus();
}

}  // namespace telltale::model
