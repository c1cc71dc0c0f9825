#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "data/channel.h"
#include "data/csv_rows.h"
#include "data/series.h"

namespace telltale::data {

// Reads telemetry from CSV one instant at a time, in constant memory.
//
// The header names the columns: first `time` (see ParseTimeStamp), then one
// channel each, `name` or `name[unit]`. A cell is a decimal number; empty or
// `nan` means missing. Time increases strictly and keeps the form of the first
// row. Independent of the machine's locale and time zone. Not thread-safe.
class CsvReader {
 public:
  // Opens the file and reads its header. kNotFound, kPermissionDenied: cannot
  // be opened. kInvalidArgument: no such header.
  static absl::StatusOr<CsvReader> Open(const std::string& path);
  // The same of any input; `name` stands for it in messages.
  static absl::StatusOr<CsvReader> Create(std::unique_ptr<std::istream> input,
                                          std::string name);

  const ChannelSet& channels() const { return channels_; }

  // Reads the next instant; false after the last. After an error, the reader
  // is of no more use. kInvalidArgument names file, line, column, the text
  // found and what was expected instead. kDataLoss: cannot be read.
  // REQUIRES: samples.size() == channels().size().
  absl::StatusOr<bool> Next(int64_t& time_ns, std::span<float> samples);

  // How the file writes its time stamps; kSeconds before the first instant.
  TimeForm time_form() const { return form_.value_or(TimeForm::kSeconds); }
  // Of the instant read last.
  int64_t line() const { return rows_.line(); }

 private:
  explicit CsvReader(CsvRows rows) : rows_(std::move(rows)) {}

  absl::Status ReadHeader();
  absl::StatusOr<int64_t> ReadTime(std::string_view text);
  absl::StatusOr<float> ReadSample(size_t column, std::string_view text) const;

  CsvRows rows_;
  ChannelSet channels_;
  std::vector<std::string> headings_;  // as written, for messages
  std::vector<std::string_view> cells_;
  std::optional<TimeForm> form_;
  std::optional<int64_t> last_ns_;
};

// The whole file. kInvalidArgument also when it holds no instant.
absl::StatusOr<Series> ReadCsv(const std::string& path);

// `name` or `name[unit]`: the last pair of brackets holds the unit.
Channel ChannelOfHeading(std::string_view heading);
// The inverse: `name[]` where a bare name would be misread.
std::string HeadingOfChannel(const Channel& channel);

}  // namespace telltale::data
