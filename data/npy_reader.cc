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

// Whether more than one series may come of a file.
enum class Extent { kOneSeries, kSegments };

// Segments that a file may hold at the most.
constexpr int64_t kMaxSegments = 1 << 20;

// What is to be read, once the header has been checked.
struct Layout {
  ElementType type;
  int64_t segments;
  int64_t steps;
  int64_t channels;
  bool one_axis;
};

// What a channel's numbers have been so far.
struct Content {
  bool zero = false;
  bool one = false;
  bool other = false;  // neither, and not missing
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

// Steps and channels within bounds, or how they are not.
absl::Status CheckAxes(const Layout& layout, const NpyHeader& header,
                       const std::string& path) {
  const int64_t most_steps = std::numeric_limits<int>::max();
  if (layout.segments < 1 || layout.segments > kMaxSegments ||
      layout.steps < 1 || layout.steps > most_steps || layout.channels < 1 ||
      layout.channels > ChannelSet::kMaxChannels) {
    return Refuse(
        path, absl::StrFormat("holds an array of shape %s; expected 1 to %d "
                              "steps and 1 to %d channels, and at most %d "
                              "segments",
                              ShapeText(header.shape), most_steps,
                              ChannelSet::kMaxChannels, kMaxSegments));
  }
  const bool many_axes =
      layout.channels > 1 || (layout.segments > 1 && layout.steps > 1);
  if (header.fortran_order && many_axes) {
    return Refuse(path,
                  "is in Fortran order; expected C order (save "
                  "numpy.ascontiguousarray(array))");
  }
  return absl::OkStatus();
}

// kInvalidArgument unless the shape is one of a series, or of segments where
// those are wanted, and fills exactly `data_bytes`.
absl::StatusOr<Layout> CheckLayout(const NpyHeader& header, int64_t data_bytes,
                                   Extent extent, const std::string& path) {
  const absl::StatusOr<ElementType> type = FindType(header.descr, path);
  if (!type.ok()) return type.status();
  const std::vector<int64_t>& shape = header.shape;
  const bool three_axes = shape.size() == 3 && extent == Extent::kSegments;
  if (shape.empty() || (shape.size() > 2 && !three_axes)) {
    return Refuse(path, absl::StrFormat(
                            "holds an array of shape %s; expected [steps] or "
                            "[steps, channels]%s",
                            ShapeText(shape),
                            extent == Extent::kSegments
                                ? " or [segments, steps, channels]"
                                : " (train and score take several segments in "
                                  "one array, other commands one of them)"));
  }
  const size_t first = three_axes ? 1 : 0;
  const Layout layout = {*type, three_axes ? shape[0] : 1, shape[first],
                         shape.size() > 1 ? shape[first + 1] : 1,
                         shape.size() == 1};
  if (auto s = CheckAxes(layout, header, path); !s.ok()) return s;
  // At most 2^31 x 2^12 x 8 bytes: fits. Times the segments it may not.
  const int64_t segment = layout.steps * layout.channels * type->bytes;
  if (data_bytes % segment != 0 || data_bytes / segment != layout.segments) {
    return Refuse(
        path, absl::StrFormat("has %d bytes of data; shape %s of type %s needs "
                              "%d for each of %d segment(s)",
                              data_bytes, ShapeText(shape), header.descr,
                              segment, layout.segments));
  }
  return layout;
}

std::string StemOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  std::string stem = slash == std::string::npos ? path : path.substr(slash + 1);
  if (stem.size() > 4 && stem.ends_with(".npy")) stem.resize(stem.size() - 4);
  return stem;
}

absl::StatusOr<ChannelSet> NameChannels(const Layout& layout,
                                        const std::vector<Content>& contents,
                                        const std::string& path) {
  const std::string stem = StemOf(path);
  const bool any_other = std::ranges::any_of(
      contents, [](const Content& content) { return content.other; });
  std::vector<Channel> channels(layout.channels);
  for (int64_t i = 0; i < layout.channels; ++i) {
    channels[i].name =
        layout.one_axis ? stem : absl::StrFormat("%s.%d", stem, i);
    const Content& content = contents[i];
    const bool pulses = content.zero && content.one && any_other;
    if (!content.other && (layout.type.whole || pulses)) {
      channels[i].kind = ChannelKind::kCommand;
    }
  }
  absl::StatusOr<ChannelSet> set = ChannelSet::Create(std::move(channels));
  if (!set.ok()) return Refuse(path, std::string(set.status().message()));
  return set;
}

// Reads the next segment row by row; `contents` learns of its numbers.
absl::Status ReadSamples(std::istream& input, const Layout& layout,
                         const std::string& path, Series& series,
                         std::vector<Content>& contents) {
  series.time_ns.resize(layout.steps);
  series.samples.resize(layout.steps * layout.channels);
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
      contents[i].zero |= value == 0;
      contents[i].one |= value == 1;
      contents[i].other |= value != 0 && value != 1 && !std::isnan(value);
      *sample++ = static_cast<float>(value);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Series>> ReadArray(std::istream& input,
                                              Extent extent,
                                              const std::string& path) {
  const absl::StatusOr<std::string> text = ReadHeaderText(input, path);
  if (!text.ok()) return text.status();
  const absl::StatusOr<NpyHeader> header = ParseNpyHeader(*text);
  if (!header.ok()) {
    return Refuse(path, std::string(header.status().message()));
  }
  const absl::StatusOr<int64_t> data_bytes = RemainingBytes(input, path);
  if (!data_bytes.ok()) return data_bytes.status();
  const absl::StatusOr<Layout> layout =
      CheckLayout(*header, *data_bytes, extent, path);
  if (!layout.ok()) return layout.status();

  std::vector<Series> segments(layout->segments);
  std::vector<Content> contents(layout->channels);
  for (int64_t i = 0; i < layout->segments; ++i) {
    const absl::Status read =
        ReadSamples(input, *layout, path, segments[i], contents);
    if (read.ok()) continue;
    if (layout->segments == 1) return read;
    return absl::Status(
        read.code(),
        absl::StrFormat("segment %d of %s", i, std::string(read.message())));
  }
  const absl::StatusOr<ChannelSet> channels =
      NameChannels(*layout, contents, path);
  if (!channels.ok()) return channels.status();
  for (Series& segment : segments) segment.channels = *channels;
  return segments;
}

}  // namespace

absl::StatusOr<Series> ReadNpy(const std::string& path) {
  absl::StatusOr<std::ifstream> file = OpenFile(path);
  if (!file.ok()) return file.status();
  return ReadNpy(*file, path);
}

absl::StatusOr<Series> ReadNpy(std::istream& input, const std::string& path) {
  auto series = ReadArray(input, Extent::kOneSeries, path);
  if (!series.ok()) return series.status();
  return std::move(series->front());
}

absl::StatusOr<std::vector<Series>> ReadNpySegments(const std::string& path) {
  absl::StatusOr<std::ifstream> file = OpenFile(path);
  if (!file.ok()) return file.status();
  return ReadNpySegments(*file, path);
}

absl::StatusOr<std::vector<Series>> ReadNpySegments(std::istream& input,
                                                    const std::string& path) {
  return ReadArray(input, Extent::kSegments, path);
}

}  // namespace telltale::data
