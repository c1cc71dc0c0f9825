#pragma once

#include <span>
#include <string>

#include "absl/status/status.h"

namespace telltale::server {

// A file that a command is to write, and the flag that names it.
struct OutputPath {
  std::string flag;
  std::string path;
};

// That each output can be written, and that none is another output or is read,
// whatever the links and dots in their names and whether they exist yet. Before
// hours of work rather than after them. Changes no file; what else happens to
// the files meanwhile is not seen.
//
// `inputs`: as a command line names them; empty ones are passed over, those
// with commas between are several files (data::ReadSeries). An output that is
// rewritten from itself is no input.
//
// kInvalidArgument, naming flag and file: a folder, no folder to write it in,
// one that must not be written, or a file named twice.
absl::Status CheckOutputs(std::span<const OutputPath> outputs,
                          std::span<const std::string> inputs);

}  // namespace telltale::server
