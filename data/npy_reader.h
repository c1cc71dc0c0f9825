#pragma once

#include <istream>
#include <string>

#include "absl/status/statusor.h"

#include "data/series.h"

namespace telltale::data {

// Reads a series from NumPy's .npy format, versions 1 to 3: [steps] or [steps,
// channels] in C order; little-endian float32 or float64, any integer, or bool.
//
// A channel is called `stem` if there is one axis, else `stem.0`, `stem.1`, ...
// with the file's name less ".npy" as the stem. Time is the row index in
// seconds. A channel is a command if its numbers are integer or bool and all 0
// or 1, else continuous. NaN means missing.
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

}  // namespace telltale::data
