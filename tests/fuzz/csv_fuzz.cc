// The CSV reader against hostile input: whatever it accepts keeps the promises
// of its header, whatever it refuses is refused with a message.

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "data/csv_reader.h"
#include "data/time_stamp.h"
#include "data/window.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

namespace data = telltale::data;

void CheckInstants(data::CsvReader& reader) {
  std::vector<float> instant(reader.channels().size());
  std::optional<int64_t> last;
  int64_t time_ns = 0;
  while (true) {
    const auto found = reader.Next(time_ns, instant);
    if (!found.ok() || !*found) return;
    TELLTALE_FUZZ_CHECK(!last || time_ns > *last);
    last = time_ns;
    for (const float sample : instant) {
      TELLTALE_FUZZ_CHECK(std::isnan(sample) ||
                          std::fabs(sample) <= data::kMaxSample);
    }
    const auto reread = data::ParseTimeStamp(
        data::FormatTimeStamp(time_ns, reader.time_form()));
    TELLTALE_FUZZ_CHECK(reread.ok() && reread->time_ns == time_ns);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  std::string text(reinterpret_cast<const char*>(bytes), size);
  auto reader = data::CsvReader::Create(
      std::make_unique<std::istringstream>(std::move(text)), "input");
  if (!reader.ok()) {
    TELLTALE_FUZZ_CHECK(!reader.status().message().empty());
    return 0;
  }
  CheckInstants(*reader);
  return 0;
}
