#pragma once

namespace telltale::testing {

// The disk under SQLite's files, which is full from its creation until Free or
// its end: writes fail as they do there. One at a time. Only files that SQLite
// opens after Prepare notice; call that once, before any of them.
class FullDisk {
 public:
  static void Prepare();

  FullDisk();
  ~FullDisk();

  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

  void Free();
};

}  // namespace telltale::testing
