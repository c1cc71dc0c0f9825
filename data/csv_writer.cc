#include "data/csv_writer.h"

#include <cassert>
#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"

#include "data/csv_reader.h"
#include "data/time_stamp.h"

namespace telltale::data {

std::string CsvCell(std::string_view text) {
  const bool plain =
      text.find_first_of(",;\t\"\r\n") == std::string_view::npos &&
      (text.empty() ||
       (text.front() != ' ' && text.back() != ' ' && text.front() != '#'));
  if (plain) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  cell += '"';
  return cell;
}

void AppendCsvSample(float sample, std::string& line) {
  if (std::isnan(sample)) return;
  char digits[32];
  const auto written = std::to_chars(digits, digits + sizeof(digits), sample);
  assert(written.ec == std::errc());
  line.append(digits, written.ptr);
}

CsvWriter::CsvWriter(OutputFile file, TimeForm form)
    : file_(std::move(file)), form_(form) {}

absl::StatusOr<CsvWriter> CsvWriter::Create(const std::string& path,
                                            const ChannelSet& channels,
                                            TimeForm form) {
  std::string header = "time";
  for (const Channel& channel : channels.channels()) {
    const std::string heading = HeadingOfChannel(channel);
    const Channel reread = ChannelOfHeading(heading);
    if (reread.name != channel.name || reread.unit != channel.unit ||
        heading.find_first_of("\r\n") != std::string::npos) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "no CSV heading can hold channel \"%s\" with unit \"%s\"; brackets "
          "and line ends would be misread",
          absl::CHexEscape(channel.name), absl::CHexEscape(channel.unit)));
    }
    header += ',';
    header += CsvCell(heading);
  }
  header += '\n';
  absl::StatusOr<OutputFile> file = OutputFile::Create(path);
  if (!file.ok()) return file.status();
  file->stream() << header;
  return CsvWriter(*std::move(file), form);
}

void CsvWriter::Append(int64_t time_ns, std::span<const float> samples) {
  line_ = FormatTimeStamp(time_ns, form_);
  for (const float sample : samples) {
    line_ += ',';
    AppendCsvSample(sample, line_);
  }
  line_ += '\n';
  file_.stream() << line_;
}

absl::Status CsvWriter::Close() { return file_.Close(); }

absl::Status WriteCsv(const Series& series, const std::string& path) {
  absl::StatusOr<CsvWriter> writer =
      CsvWriter::Create(path, series.channels, series.time_form);
  if (!writer.ok()) return writer.status();
  for (int t = 0; t < series.length(); ++t) {
    writer->Append(series.time_ns[t], series.Instant(t));
  }
  return writer->Close();
}

}  // namespace telltale::data
