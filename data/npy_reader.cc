// Format (NumPy enhancement proposal 1 and its later versions):
//   file   = magic major minor length header data
//   magic  = %x93 "NUMPY"
//   length = 2 bytes (major 1) or 4 bytes (major 2 and 3), little endian
//   header = see npy_header.cc
//   data   = the product of the shape times the size of the type, in bytes

#include "data/npy_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"

#include "data/file_stream.h"
#include "data/npy_header.h"
#include "data/window.h"

namespace telltale::data {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the numbers of a file are taken as they lie in memory");

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr int64_t kMaxHeaderBytes = 10'000;
constexpr int64_t kNsPerSecond = 1'000'000'000;

struct ElementType {
  std::string_view descr;
  int64_t bytes;
  bool whole;  // integer or bool
  // The number that lies at `bytes`, as a double: exact below 2^53, which is
  // far finer than the float that becomes of it.
  double (*read)(const char* bytes);
};

template <typename Number>
double ReadNumber(const char* bytes) {
  Number number = 0;
  std::memcpy(&number, bytes, sizeof(number));
  return static_cast<double>(number);
}

constexpr std::array<ElementType, 11> kElementTypes = {{
    {"<f4", 4, false, ReadNumber<float>},
    {"<f8", 8, false, ReadNumber<double>},
    {"|b1", 1, true, ReadNumber<uint8_t>},
    {"|i1", 1, true, ReadNumber<int8_t>},
    {"|u1", 1, true, ReadNumber<uint8_t>},
    {"<i2", 2, true, ReadNumber<int16_t>},
    {"<u2", 2, true, ReadNumber<uint16_t>},
    {"<i4", 4, true, ReadNumber<int32_t>},
    {"<u4", 4, true, ReadNumber<uint32_t>},
    {"<i8", 8, true, ReadNumber<int64_t>},
    {"<u8", 8, true, ReadNumber<uint64_t>},
}};

// What is to be read, once the header has been checked.
struct Layout {
  ElementType type;
  int64_t steps;
  int64_t channels;
  bool one_axis;
};

absl::Status Refuse(const std::string& path, std::string_view problem) {
  return absl::InvalidArgumentError(absl::StrFormat("%s: %s", path, problem));
}

// Reads exactly `size` bytes; false at an early end.
bool ReadExactly(std::istream& input, char* bytes, int64_t size) {
  input.read(bytes, size);
  return input.gcount() == size;
}

// The bytes from here to the end.
absl::StatusOr<int64_t> RemainingBytes(std::istream& input,
                                       const std::string& path) {
  const std::streamoff here = input.tellg();
  input.seekg(0, std::ios::end);
  const std::streamoff end = input.tellg();
  input.seekg(here);
  if (!input || here < 0 || end < here) {
    return absl::DataLossError(
        absl::StrFormat("cannot tell how long %s is", path));
  }
  return end - here;
}

absl::StatusOr<std::string> ReadHeaderText(std::istream& input,
                                           const std::string& path) {
  std::array<char, 8> start = {};
  if (!ReadExactly(input, start.data(), start.size()) ||
      std::string_view(start.data(), kMagic.size()) != kMagic) {
    return Refuse(path, "is no .npy file; it does not begin with \\x93NUMPY");
  }
  const int major = static_cast<unsigned char>(start[6]);
  if (major < 1 || major > 3) {
    return Refuse(path, absl::StrFormat("is of version %d of the format; "
                                        "expected 1, 2 or 3",
                                        major));
  }
  const int length_bytes = major == 1 ? 2 : 4;
  uint32_t length = 0;
  if (!ReadExactly(input, reinterpret_cast<char*>(&length), length_bytes)) {
    return Refuse(path, "ends before its header");
  }
  if (length > kMaxHeaderBytes) {
    return Refuse(path,
                  absl::StrFormat("claims a header of %d bytes; at most %d are "
                                  "allowed",
                                  length, kMaxHeaderBytes));
  }
  std::string text(length, '\0');
  if (!ReadExactly(input, text.data(), length)) {
    return Refuse(path, "ends within its header");
  }
  return text;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t size : shape) {
    absl::StrAppendFormat(&text, "%s%d", text.empty() ? "" : ", ", size);
  }
  return "[" + text + "]";
}

absl::StatusOr<ElementType> FindType(const std::string& descr,
                                     const std::string& path) {
  for (const ElementType& type : kElementTypes) {
    if (type.descr == descr) return type;
  }
  return Refuse(path,
                absl::StrFormat("holds elements of type \"%s\"; expected "
                                "little-endian float32 or float64, integers or "
                                "bool (convert with array.astype('<f4'))",
                                absl::CHexEscape(descr.substr(0, 24))));
}

// kInvalidArgument unless the shape is one of a series and fills exactly
// `data_bytes`.
absl::StatusOr<Layout> CheckLayout(const NpyHeader& header, int64_t data_bytes,
                                   const std::string& path) {
  const absl::StatusOr<ElementType> type = FindType(header.descr, path);
  if (!type.ok()) return type.status();
  const std::vector<int64_t>& shape = header.shape;
  if (shape.empty() || shape.size() > 2) {
    return Refuse(path, absl::StrFormat(
                            "holds an array of shape %s; expected [steps] or "
                            "[steps, channels] (save each segment of a larger "
                            "array to a file of its own)",
                            ShapeText(shape)));
  }
  const int64_t steps = shape[0];
  const int64_t channels = shape.size() == 2 ? shape[1] : 1;
  if (steps < 1 || steps > std::numeric_limits<int>::max() || channels < 1 ||
      channels > ChannelSet::kMaxChannels) {
    return Refuse(
        path, absl::StrFormat("holds an array of shape %s; expected 1 to %d "
                              "steps and 1 to %d channels",
                              ShapeText(shape), std::numeric_limits<int>::max(),
                              ChannelSet::kMaxChannels));
  }
  if (header.fortran_order && channels > 1) {
    return Refuse(path,
                  "is in Fortran order; expected C order (save "
                  "numpy.ascontiguousarray(array))");
  }
  // At most 2^31 x 2^12 x 8 bytes: fits.
  const int64_t claimed = steps * channels * type->bytes;
  if (claimed != data_bytes) {
    return Refuse(
        path,
        absl::StrFormat("has %d bytes of data; shape %s of type %s needs "
                        "%d",
                        data_bytes, ShapeText(shape), header.descr, claimed));
  }
  return Layout{*type, steps, channels, shape.size() == 1};
}

std::string StemOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  std::string stem = slash == std::string::npos ? path : path.substr(slash + 1);
  if (stem.size() > 4 && stem.ends_with(".npy")) stem.resize(stem.size() - 4);
  return stem;
}

absl::StatusOr<ChannelSet> NameChannels(const Layout& layout,
                                        const std::vector<bool>& binary,
                                        const std::string& path) {
  const std::string stem = StemOf(path);
  std::vector<Channel> channels(layout.channels);
  for (int64_t i = 0; i < layout.channels; ++i) {
    channels[i].name =
        layout.one_axis ? stem : absl::StrFormat("%s.%d", stem, i);
    if (binary[i]) channels[i].kind = ChannelKind::kCommand;
  }
  absl::StatusOr<ChannelSet> set = ChannelSet::Create(std::move(channels));
  if (!set.ok()) return Refuse(path, std::string(set.status().message()));
  return set;
}

// Reads the samples row by row. `binary` learns which columns hold only 0 and
// 1.
absl::Status ReadSamples(std::istream& input, const Layout& layout,
                         const std::string& path, Series& series,
                         std::vector<bool>& binary) {
  series.time_ns.resize(layout.steps);
  series.samples.resize(layout.steps * layout.channels);
  binary.assign(layout.channels, layout.type.whole);
  std::vector<char> row(layout.channels * layout.type.bytes);
  float* sample = series.samples.data();
  for (int64_t t = 0; t < layout.steps; ++t) {
    if (!ReadExactly(input, row.data(), static_cast<int64_t>(row.size()))) {
      return absl::DataLossError(
          absl::StrFormat("cannot read all of %s", path));
    }
    series.time_ns[t] = t * kNsPerSecond;
    for (int64_t i = 0; i < layout.channels; ++i) {
      const double value = layout.type.read(&row[i * layout.type.bytes]);
      // A NaN compares false and passes: it means missing.
      if (std::fabs(value) > kMaxSample) {
        return Refuse(path,
                      absl::StrFormat("the sample at row %d, column %d is %g; "
                                      "expected a magnitude of at most %g, or "
                                      "NaN for missing",
                                      t, i, value, kMaxSample));
      }
      if (value != 0 && value != 1) binary[i] = false;
      *sample++ = static_cast<float>(value);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Series> ReadNpy(const std::string& path) {
  absl::StatusOr<std::ifstream> file = OpenFile(path);
  if (!file.ok()) return file.status();
  return ReadNpy(*file, path);
}

absl::StatusOr<Series> ReadNpy(std::istream& input, const std::string& path) {
  const absl::StatusOr<std::string> text = ReadHeaderText(input, path);
  if (!text.ok()) return text.status();
  const absl::StatusOr<NpyHeader> header = ParseNpyHeader(*text);
  if (!header.ok()) {
    return Refuse(path, std::string(header.status().message()));
  }
  const absl::StatusOr<int64_t> data_bytes = RemainingBytes(input, path);
  if (!data_bytes.ok()) return data_bytes.status();
  const absl::StatusOr<Layout> layout = CheckLayout(*header, *data_bytes, path);
  if (!layout.ok()) return layout.status();

  Series series;
  std::vector<bool> binary;
  const absl::Status read = ReadSamples(input, *layout, path, series, binary);
  if (!read.ok()) return read;
  absl::StatusOr<ChannelSet> channels = NameChannels(*layout, binary, path);
  if (!channels.ok()) return channels.status();
  series.channels = *std::move(channels);
  return series;
}

}  // namespace telltale::data
