// The safetensors format:
//
//   file     := length header data
//   length   := 8 bytes, unsigned, little-endian: the bytes of header
//   header   := a JSON object, padded with spaces at its end
//               { "__metadata__": { text: text, ... },   (may be absent)
//                 name: tensor, ... }
//   tensor   := { "dtype": "F32" | "F64" | "I64" | "U8" | "BF16",
//                 "shape": [ dimension, ... ],
//                 "data_offsets": [ begin, end ] }       (bytes into data)
//   data     := the tensors' elements, row-major, little-endian, in rising
//               order of offset, without gap or overlap
//
// We demand more than the format does: no empty tensor, no key twice, and the
// limits in the header file.
#include "model/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

#include "model/checkpoint/file_io.h"

namespace telltale::model {
namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little,
              "tensors are copied as they lie in the file");

constexpr std::string_view kMetadataKey = "__metadata__";
constexpr size_t kLengthBytes = 8;
constexpr int kMaxDepth = 8;

struct TypeEntry {
  TensorType type;
  std::string_view name;
  size_t size;
};
constexpr std::array<TypeEntry, 5> kTypes = {{
    {TensorType::kF32, "F32", 4},
    {TensorType::kF64, "F64", 8},
    {TensorType::kI64, "I64", 8},
    {TensorType::kU8, "U8", 1},
    {TensorType::kBf16, "BF16", 2},
}};

const TypeEntry& EntryOf(TensorType type) {
  return kTypes.at(static_cast<size_t>(type));
}

// A name as it may stand in a message: one line of printable characters.
std::string Printable(std::string_view name) {
  constexpr size_t kShown = 64;
  const std::string shown(name.substr(0, kShown));
  return absl::CHexEscape(shown) + (name.size() > kShown ? "..." : "");
}

template <typename... Args>
absl::Status Damaged(const absl::FormatSpec<Args...>& format,
                     const Args&... args) {
  return absl::DataLossError("not a sound safetensors file: " +
                             absl::StrFormat(format, args...));
}

// The bytes of a tensor; none when they exceed what a file may hold or a
// dimension is below one.
std::optional<size_t> ByteCount(TensorType type,
                                std::span<const int64_t> shape) {
  size_t count = EntryOf(type).size;
  for (const int64_t dimension : shape) {
    if (dimension < 1) return std::nullopt;
    if (__builtin_mul_overflow(count, static_cast<size_t>(dimension), &count)) {
      return std::nullopt;
    }
  }
  if (count > TensorFile::kMaxFileBytes) return std::nullopt;
  return count;
}

// The header as JSON; refuses a key twice and deep nesting, neither of which
// the JSON library minds.
absl::StatusOr<Json> ParseHeader(std::string_view header) {
  std::vector<std::set<std::string>> keys;  // of the objects open at present
  std::string repeated;
  bool deep = false;
  const auto observe = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth >= kMaxDepth) deep = true;
    if (deep) return false;
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key) {
      const std::string& key = value.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) repeated = key;
    }
    return true;
  };
  // The callback sees an array's and an object's start one level further out
  // than what they hold, hence >= above.
  Json json = Json::parse(header.begin(), header.end(), observe, false);
  if (deep) return Damaged("its header nests deeper than %d levels", kMaxDepth);
  if (!repeated.empty()) {
    return Damaged("its header has the key \"%s\" twice", Printable(repeated));
  }
  if (!json.is_object()) return Damaged("its header is not a JSON object");
  return json;
}

absl::StatusOr<std::map<std::string, std::string>> ParseMetadata(
    const Json& json) {
  if (!json.is_object()) return Damaged("__metadata__ is not an object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) {
      return Damaged("__metadata__ entry \"%s\" is not text", Printable(key));
    }
    metadata.emplace(key, value.get_ref<const std::string&>());
  }
  return metadata;
}

// A tensor as the header declares it.
struct Declaration {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<int64_t> shape;
  size_t begin = 0;
  size_t end = 0;
};

// A JSON array of whole numbers that fit a file.
std::optional<std::vector<int64_t>> WholeNumbers(const Json& json,
                                                 size_t max_count) {
  if (!json.is_array() || json.size() > max_count) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Json& element : json) {
    if (!element.is_number_unsigned()) return std::nullopt;
    const auto number = element.get<uint64_t>();
    if (number > TensorFile::kMaxFileBytes) return std::nullopt;
    numbers.push_back(static_cast<int64_t>(number));
  }
  return numbers;
}

absl::StatusOr<Declaration> ParseDeclaration(const std::string& name,
                                             const Json& json) {
  if (name.empty() || name.size() > TensorFile::kMaxNameBytes) {
    return Damaged("a tensor's name has %d bytes; 1 to %d are allowed",
                   name.size(), TensorFile::kMaxNameBytes);
  }
  const std::string shown = Printable(name);
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") ||
      !json.contains("shape") || !json.contains("data_offsets")) {
    return Damaged("\"%s\" has not just dtype, shape and data_offsets", shown);
  }
  Declaration declaration;
  declaration.name = name;
  const Json& dtype = json["dtype"];
  const std::optional<TensorType> type =
      dtype.is_string() ? ParseTensorType(dtype.get_ref<const std::string&>())
                        : std::nullopt;
  if (!type.has_value()) {
    return Damaged("\"%s\" has an unknown dtype; known: F32 F64 I64 U8 BF16",
                   shown);
  }
  declaration.type = *type;
  const auto shape = WholeNumbers(json["shape"], TensorFile::kMaxRank);
  if (!shape.has_value()) {
    return Damaged("the shape of \"%s\" is not up to %d whole numbers", shown,
                   TensorFile::kMaxRank);
  }
  declaration.shape = *shape;
  const auto offsets = WholeNumbers(json["data_offsets"], 2);
  if (!offsets.has_value() || offsets->size() != 2) {
    return Damaged("the data_offsets of \"%s\" are not two whole numbers",
                   shown);
  }
  declaration.begin = static_cast<size_t>(offsets->front());
  declaration.end = static_cast<size_t>(offsets->back());
  return declaration;
}

// The declarations in order of their data, which they cover without gap.
absl::StatusOr<std::vector<Declaration>> ParseDeclarations(const Json& header,
                                                           size_t data_bytes) {
  if (header.size() > TensorFile::kMaxTensors + 1) {
    return Damaged("it declares more than %d tensors", TensorFile::kMaxTensors);
  }
  std::vector<Declaration> declarations;
  for (const auto& [name, json] : header.items()) {
    if (name == kMetadataKey) continue;
    absl::StatusOr<Declaration> declaration = ParseDeclaration(name, json);
    if (!declaration.ok()) return declaration.status();
    declarations.push_back(*std::move(declaration));
  }
  if (declarations.size() > TensorFile::kMaxTensors) {
    return Damaged("it declares more than %d tensors", TensorFile::kMaxTensors);
  }
  std::ranges::sort(declarations, std::less<>(), &Declaration::begin);
  size_t end = 0;
  for (const Declaration& declaration : declarations) {
    const std::string shown = Printable(declaration.name);
    const auto bytes = ByteCount(declaration.type, declaration.shape);
    if (!bytes.has_value()) {
      return Damaged("the shape of \"%s\" is empty or too large", shown);
    }
    if (declaration.begin != end) {
      return Damaged("the data of \"%s\" begin at byte %d, expected %d", shown,
                     declaration.begin, end);
    }
    if (declaration.end < end || declaration.end - end != *bytes) {
      return Damaged("the data of \"%s\" end at byte %d; its shape needs %d",
                     shown, declaration.end, end + *bytes);
    }
    end = declaration.end;
  }
  if (end != data_bytes) {
    return Damaged("the tensors take %d bytes of data, the file has %d", end,
                   data_bytes);
  }
  return declarations;
}

StoredTensor Extract(const Declaration& declaration, std::string_view data) {
  StoredTensor tensor;
  tensor.type = declaration.type;
  tensor.shape = declaration.shape;
  const std::string_view bytes =
      data.substr(declaration.begin, declaration.end - declaration.begin);
  if (tensor.type == TensorType::kF32) {
    tensor.values.resize(bytes.size() / sizeof(float));
    std::memcpy(tensor.values.data(), bytes.data(), bytes.size());
  } else {
    tensor.bytes = std::string(bytes);
  }
  return tensor;
}

std::string_view BytesOf(const StoredTensor& tensor) {
  if (tensor.type != TensorType::kF32) return tensor.bytes;
  return {reinterpret_cast<const char*>(tensor.values.data()),
          tensor.values.size() * sizeof(float)};
}

absl::Status CheckForWriting(const std::string& name,
                             const StoredTensor& tensor) {
  if (name.empty() || name.size() > TensorFile::kMaxNameBytes ||
      name == kMetadataKey) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "\"%s\" cannot be a tensor's name: 1 to %d bytes, not __metadata__",
        Printable(name), TensorFile::kMaxNameBytes));
  }
  const auto bytes = ByteCount(tensor.type, tensor.shape);
  if (tensor.shape.size() > TensorFile::kMaxRank || !bytes.has_value() ||
      BytesOf(tensor).size() != *bytes) {
    return absl::InvalidArgumentError(
        absl::StrFormat("tensor \"%s\" has %d bytes of data, which do not fill "
                        "its shape",
                        Printable(name), BytesOf(tensor).size()));
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view TensorTypeName(TensorType type) { return EntryOf(type).name; }

std::optional<TensorType> ParseTensorType(std::string_view name) {
  for (const TypeEntry& entry : kTypes) {
    if (entry.name == name) return entry.type;
  }
  return std::nullopt;
}

StoredTensor StoredTensor::Of(std::vector<int64_t> shape,
                              std::span<const float> values) {
  StoredTensor tensor;
  tensor.shape = std::move(shape);
  tensor.values.assign(values.begin(), values.end());
  return tensor;
}

absl::StatusOr<TensorFile> TensorFile::Parse(std::string_view bytes) {
  if (bytes.size() > kMaxFileBytes) {
    return Damaged("it has %d bytes; at most %d are allowed", bytes.size(),
                   kMaxFileBytes);
  }
  if (bytes.size() < kLengthBytes) {
    return Damaged("it has %d bytes, fewer than its length field",
                   bytes.size());
  }
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), kLengthBytes);
  bytes.remove_prefix(kLengthBytes);
  if (header_bytes > kMaxHeaderBytes || header_bytes > bytes.size()) {
    return Damaged(
        "its header should have %d bytes; %d follow and at most %d are allowed",
        header_bytes, bytes.size(), kMaxHeaderBytes);
  }
  const absl::StatusOr<Json> header =
      ParseHeader(bytes.substr(0, header_bytes));
  if (!header.ok()) return header.status();
  const std::string_view data = bytes.substr(header_bytes);

  TensorFile file;
  if (const auto found = header->find(kMetadataKey); found != header->end()) {
    auto metadata = ParseMetadata(*found);
    if (!metadata.ok()) return metadata.status();
    file.metadata = *std::move(metadata);
  }
  const auto declarations = ParseDeclarations(*header, data.size());
  if (!declarations.ok()) return declarations.status();
  for (const Declaration& declaration : *declarations) {
    file.tensors.emplace(declaration.name, Extract(declaration, data));
  }
  return file;
}

absl::StatusOr<TensorFile> TensorFile::Read(const std::filesystem::path& path) {
  const absl::StatusOr<std::string> bytes = ReadFile(path, kMaxFileBytes);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<TensorFile> file = Parse(*bytes);
  if (!file.ok()) {
    return absl::Status(file.status().code(),
                        absl::StrFormat("%s is %s", path.string(),
                                        std::string(file.status().message())));
  }
  return file;
}

absl::StatusOr<std::string> TensorFile::Serialize() const {
  if (tensors.size() > kMaxTensors) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%d tensors; a file holds at most %d", tensors.size(), kMaxTensors));
  }
  Json header = Json::object();
  if (!metadata.empty()) header[std::string(kMetadataKey)] = metadata;
  size_t end = 0;
  for (const auto& [name, tensor] : tensors) {
    if (absl::Status status = CheckForWriting(name, tensor); !status.ok()) {
      return status;
    }
    const size_t begin = end;
    end += BytesOf(tensor).size();
    header[name] = {{"dtype", TensorTypeName(tensor.type)},
                    {"shape", tensor.shape},
                    {"data_offsets", {begin, end}}};
  }
  // What is not UTF-8 is replaced by dump, and then no longer the same.
  std::string text =
      header.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (Json::parse(text, nullptr, false) != header) {
    return absl::InvalidArgumentError(
        "a tensor's name or metadata is not UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kMaxHeaderBytes ||
      kLengthBytes + text.size() + end > kMaxFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrFormat("header of %d and data of %d bytes; a file holds at "
                        "most %d and %d",
                        text.size(), end, kMaxHeaderBytes, kMaxFileBytes));
  }
  const uint64_t header_bytes = text.size();
  std::string bytes(kLengthBytes, '\0');
  std::memcpy(bytes.data(), &header_bytes, kLengthBytes);
  bytes.reserve(kLengthBytes + text.size() + end);
  bytes += text;
  for (const auto& [name, tensor] : tensors) bytes += BytesOf(tensor);
  return bytes;
}

absl::Status TensorFile::Write(const std::filesystem::path& path) const {
  const absl::StatusOr<std::string> bytes = Serialize();
  if (!bytes.ok()) return bytes.status();
  return ReplaceFile(path, *bytes);
}

}  // namespace telltale::model
