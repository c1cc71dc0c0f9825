#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

namespace telltale::testing {

// What a program left behind.
struct Outcome {
  int exit_code = 0;  // 128 + the signal that ended it
  std::string out;
  std::string err;
  int64_t peak_bytes = 0;  // of memory that it held at once
};

// The real binary with these arguments, in the background. Ended with the
// object, if need be by force.
class Process {
 public:
  // `folder` must exist; receives what the program writes. One process a
  // folder at a time.
  Process(const std::string& folder, const std::vector<std::string>& arguments);
  ~Process();

  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void Signal(int number) const;
  // Whether it has, within a minute, written `text` on standard error.
  bool AwaitError(const std::string& text) const;
  // Waits for its end, some minutes at most.
  Outcome Wait();

 private:
  const std::string out_path_;
  const std::string err_path_;
  pid_t pid_ = -1;  // -1: has been waited for
};

// Runs the real binary to its end.
Outcome RunTelltale(const std::string& folder,
                    const std::vector<std::string>& arguments);

// The bytes of a file; empty when there is none.
std::string FileBytes(const std::string& path);
bool AwaitFile(const std::string& path);

}  // namespace telltale::testing
