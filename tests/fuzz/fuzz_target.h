#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

// What libFuzzer calls, and what replay_main.cc calls without it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

// Ends the process loudly when the parser has broken its word; unlike assert,
// in every build.
#define TELLTALE_FUZZ_CHECK(condition)                                \
  do {                                                                \
    if (!(condition)) {                                               \
      std::fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, \
                   #condition);                                       \
      std::abort();                                                   \
    }                                                                 \
  } while (false)
