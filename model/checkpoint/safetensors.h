#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace telltale::model {

// The element types that a file may hold. kF32 is the one we compute with; the
// others are carried as bytes.
enum class TensorType { kF32, kF64, kI64, kU8, kBf16 };

// "F32", "F64", "I64", "U8" or "BF16".
std::string_view TensorTypeName(TensorType type);
std::optional<TensorType> ParseTensorType(std::string_view name);

// A tensor as it lies in a file: row-major, every dimension at least one; no
// dimensions is a single element.
struct StoredTensor {
  TensorType type = TensorType::kF32;
  std::vector<int64_t> shape;
  std::vector<float> values;  // kF32
  std::string bytes;          // the other types, little-endian

  // A tensor of type kF32.
  static StoredTensor Of(std::vector<int64_t> shape,
                         std::span<const float> values);

  friend bool operator==(const StoredTensor&, const StoredTensor&) = default;
};

// A safetensors file in memory: named tensors and text about them. Names and
// metadata are UTF-8.
//
// Reading trusts nothing: every length is checked before memory is taken for
// it, and any byte string gives either a TensorFile or an error.
struct TensorFile {
  static constexpr size_t kMaxHeaderBytes = size_t{1} << 20;
  static constexpr size_t kMaxFileBytes = size_t{1} << 30;
  static constexpr size_t kMaxTensors = 4096;
  static constexpr size_t kMaxNameBytes = 256;
  static constexpr size_t kMaxRank = 8;

  std::map<std::string, std::string> metadata;
  std::map<std::string, StoredTensor> tensors;

  // kDataLoss, saying what is wrong where, unless `bytes` is a whole file
  // within the limits above.
  static absl::StatusOr<TensorFile> Parse(std::string_view bytes);

  // Parse of the file's bytes; errors name the path. Besides kDataLoss those
  // of ReadFile (file_io.h).
  static absl::StatusOr<TensorFile> Read(const std::filesystem::path& path);

  // The bytes of the file, the same for the same content. kInvalidArgument: a
  // tensor whose values do not fill its shape, text that is not UTF-8, or more
  // than the limits above allow.
  absl::StatusOr<std::string> Serialize() const;

  // Serialize into a file, whole or not at all (ReplaceFile in file_io.h).
  absl::Status Write(const std::filesystem::path& path) const;

  friend bool operator==(const TensorFile&, const TensorFile&) = default;
};

}  // namespace telltale::model
