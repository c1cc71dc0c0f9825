// The .npy reader against hostile input.

#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>

#include "data/npy_reader.h"
#include "data/window.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  namespace data = telltale::data;
  std::istringstream input(
      std::string(reinterpret_cast<const char*>(bytes), size));
  const auto series = data::ReadNpy(input, "input.npy");
  if (!series.ok()) {
    TELLTALE_FUZZ_CHECK(!series.status().message().empty());
    return 0;
  }
  TELLTALE_FUZZ_CHECK(series->length() > 0);
  TELLTALE_FUZZ_CHECK(series->samples.size() ==
                      series->time_ns.size() * series->channels.size());
  // Nothing that was not in the file.
  TELLTALE_FUZZ_CHECK(series->samples.size() <= size);
  for (const float sample : series->samples) {
    TELLTALE_FUZZ_CHECK(std::isnan(sample) ||
                        std::fabs(sample) <= data::kMaxSample);
  }
  return 0;
}
