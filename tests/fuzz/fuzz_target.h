#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

// What libFuzzer calls, and what replay_main.cc calls without it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

inline void CheckFuzzed(bool kept, const char* file, int line,
                        const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "%s:%d: broken: %s\n", file, line, promise);
  std::abort();
}

// Ends the process loudly when the parser has broken its word; unlike assert,
// in every build.
#define TELLTALE_FUZZ_CHECK(condition) \
  CheckFuzzed(condition, __FILE__, __LINE__, #condition)
