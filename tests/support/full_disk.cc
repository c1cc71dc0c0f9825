#include "tests/support/full_disk.h"

#include <atomic>
#include <cassert>
#include <map>
#include <mutex>
#include <sqlite3.h>

namespace telltale::testing {
namespace {

std::atomic<bool> full{false};

// The methods of SQLite's own files, by the copy that stands in their place.
struct Replaced {
  std::mutex mutex;
  std::map<const sqlite3_io_methods*, sqlite3_io_methods*> copies;
  int (*write)(sqlite3_file*, const void*, int, sqlite3_int64) = nullptr;
};

Replaced& TheReplaced() {
  static auto& replaced = *new Replaced;
  return replaced;
}

int WriteUnlessFull(sqlite3_file* file, const void* bytes, int count,
                    sqlite3_int64 offset) {
  if (full.load()) return SQLITE_FULL;
  return TheReplaced().write(file, bytes, count, offset);
}

sqlite3_vfs* TheSystem() {
  static auto* system = sqlite3_vfs_find(nullptr);  // SQLite's, for good
  return system;
}

int Open(sqlite3_vfs* /*vfs*/, const char* name, sqlite3_file* file, int flags,
         int* out_flags) {
  const int code =
      TheSystem()->xOpen(TheSystem(), name, file, flags, out_flags);
  if (code != SQLITE_OK || file->pMethods == nullptr) return code;
  Replaced& replaced = TheReplaced();
  const std::lock_guard lock(replaced.mutex);
  sqlite3_io_methods*& copy = replaced.copies[file->pMethods];
  if (copy == nullptr) {
    copy = new sqlite3_io_methods(*file->pMethods);  // as long as the process
    assert(replaced.write == nullptr || replaced.write == copy->xWrite);
    replaced.write = copy->xWrite;
    copy->xWrite = WriteUnlessFull;
  }
  file->pMethods = copy;
  return code;
}

}  // namespace

void FullDisk::Prepare() {
  [[maybe_unused]] static const bool kPrepared = [] {
    static sqlite3_vfs vfs = *TheSystem();
    vfs.zName = "full-disk";
    vfs.pNext = nullptr;
    vfs.xOpen = Open;
    return sqlite3_vfs_register(&vfs, 1) == SQLITE_OK;
  }();
  assert(kPrepared);
}

FullDisk::FullDisk() { full.store(true); }

FullDisk::~FullDisk() { Free(); }

void FullDisk::Free() { full.store(false); }

}  // namespace telltale::testing
