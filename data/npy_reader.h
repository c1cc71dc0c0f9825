#pragma once

#include <istream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "data/series.h"

namespace telltale::data {

// Reads a series from NumPy's .npy format, versions 1 to 3: [steps] or [steps,
// channels] in C order; little-endian float32 or float64, any integer, or bool.
//
// A channel is called `stem` if there is one axis, else `stem.0`, `stem.1`, ...
// with the file's name less ".npy" as the stem. Time is the row index in
// seconds. NaN means missing. A channel is a command if its numbers are integer
// or bool and all 0 or 1, or floats that are 0 and 1 and nothing else while
// another channel of the file holds other numbers; else it is continuous.
//
// Nothing is allocated before the sizes that the header claims have been
// checked against the file's own size.
//
// kNotFound, kPermissionDenied: cannot be opened. kInvalidArgument: not such a
// file, of another type, order or number of axes, longer or shorter than its
// header says, without instants or channels, or with a sample that is infinite
// or beyond kMaxSample (names row and column). kDataLoss: cannot be read.
absl::StatusOr<Series> ReadNpy(const std::string& path);

// The same of any input that can seek; `path` stands for it in messages and
// gives the stem.
absl::StatusOr<Series> ReadNpy(std::istream& input, const std::string& path);

// Reads separate segments of the same length from one file: an array of shape
// [segments, steps, channels]. Each segment's time starts at zero; a channel's
// kind is that of its numbers in all segments. One and two axes give a single
// segment, as ReadNpy. Errors as ReadNpy.
absl::StatusOr<std::vector<Series>> ReadNpySegments(const std::string& path);

// The same of any input, as above.
absl::StatusOr<std::vector<Series>> ReadNpySegments(std::istream& input,
                                                    const std::string& path);

}  // namespace telltale::data
