#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "data/series.h"

namespace telltale::data {

// Reads a series as a command line names it: one path that ends in .csv or
// .npy (see ReadCsv and ReadNpy), or several .npy with commas between them,
// which are laid side by side: `P-1.value.npy,P-1.cmd.npy`.
//
// Errors as ReadCsv and ReadNpy, and kInvalidArgument for another ending, an
// empty path, .csv among several, or files of different lengths.
absl::StatusOr<Series> ReadSeries(const std::string& spec);

// The same, and .npy files may hold separate segments, [segments, steps,
// channels], as many in each that is laid side by side. Everything else is one
// segment.
absl::StatusOr<std::vector<Series>> ReadSegments(const std::string& spec);

}  // namespace telltale::data
