// Checkpoints against hostile input: every file is a model that can be written
// and read again, or is refused with a reason.

#include <cstdint>
#include <string_view>

#include "model/checkpoint/checkpoint.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using telltale::model::Checkpoint;
  using telltale::model::TensorFile;
  const std::string_view input(reinterpret_cast<const char*>(bytes), size);
  const auto file = TensorFile::Parse(input);
  if (!file.ok()) return 0;
  const auto checkpoint = Checkpoint::FromFile(*file);
  if (!checkpoint.ok()) {
    const absl::StatusCode code = checkpoint.status().code();
    TELLTALE_FUZZ_CHECK(code == absl::StatusCode::kDataLoss ||
                        code == absl::StatusCode::kFailedPrecondition);
    TELLTALE_FUZZ_CHECK(!checkpoint.status().message().empty());
    return 0;
  }
  TELLTALE_FUZZ_CHECK(checkpoint->cadence_ns > 0);
  TELLTALE_FUZZ_CHECK(checkpoint->config.Validate().ok());
  const auto again = Checkpoint::FromFile(checkpoint->ToFile());
  TELLTALE_FUZZ_CHECK(again.ok());
  TELLTALE_FUZZ_CHECK(again->ToFile() == checkpoint->ToFile());
  return 0;
}
