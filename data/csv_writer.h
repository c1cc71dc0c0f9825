#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "data/channel.h"
#include "data/output_file.h"
#include "data/series.h"

namespace telltale::data {

// The text as a CSV cell: quoted where a separator, a quote, a line's end, a
// leading # or a space at either end would be misread.
std::string CsvCell(std::string_view text);

// Appends the shortest decimal number that reads back to the same float;
// nothing for NaN.
void AppendCsvSample(float sample, std::string& line);

// Writes telemetry as CsvReader reads it, one instant at a time. Not
// thread-safe.
class CsvWriter {
 public:
  // Begins the file, which appears when it is closed. kInvalidArgument: a
  // channel's name or unit that no heading can hold. kPermissionDenied,
  // kNotFound, kUnknown: the file cannot be created.
  static absl::StatusOr<CsvWriter> Create(const std::string& path,
                                          const ChannelSet& channels,
                                          TimeForm form);

  // REQUIRES: one sample per channel; time increases from call to call.
  void Append(int64_t time_ns, std::span<const float> samples);

  // Puts the file in its place. kDataLoss: not everything could be written,
  // the disk being full for instance; there is no file then, or the one before.
  absl::Status Close();

 private:
  CsvWriter(OutputFile file, TimeForm form);

  OutputFile file_;
  TimeForm form_;
  std::string line_;
};

// The whole series.
absl::Status WriteCsv(const Series& series, const std::string& path);

}  // namespace telltale::data
