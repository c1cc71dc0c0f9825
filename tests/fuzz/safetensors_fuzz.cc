// The safetensors reader against hostile input: what it accepts lies within its
// limits and can be written and read again, what it refuses is called damaged.

#include <cstdint>
#include <string_view>

#include "model/checkpoint/safetensors.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using telltale::model::StoredTensor;
  using telltale::model::TensorFile;
  const std::string_view input(reinterpret_cast<const char*>(bytes), size);
  const auto file = TensorFile::Parse(input);
  if (!file.ok()) {
    TELLTALE_FUZZ_CHECK(file.status().code() == absl::StatusCode::kDataLoss);
    TELLTALE_FUZZ_CHECK(!file.status().message().empty());
    return 0;
  }
  TELLTALE_FUZZ_CHECK(file->tensors.size() <= TensorFile::kMaxTensors);
  size_t held = 0;
  for (const auto& [name, tensor] : file->tensors) {
    TELLTALE_FUZZ_CHECK(!name.empty() &&
                        name.size() <= TensorFile::kMaxNameBytes);
    TELLTALE_FUZZ_CHECK(tensor.shape.size() <= TensorFile::kMaxRank);
    held += tensor.values.size() * sizeof(float) + tensor.bytes.size();
  }
  TELLTALE_FUZZ_CHECK(held <= size);

  const auto again = file->Serialize();
  TELLTALE_FUZZ_CHECK(again.ok());
  const auto reread = TensorFile::Parse(*again);
  TELLTALE_FUZZ_CHECK(reread.ok());
  TELLTALE_FUZZ_CHECK(reread->Serialize().value() == *again);
  return 0;
}
