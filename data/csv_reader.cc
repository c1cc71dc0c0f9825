#include "data/csv_reader.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_format.h"

#include "data/time_stamp.h"
#include "data/window.h"

namespace telltale::data {
namespace {

bool IsNan(std::string_view text) {
  return text.size() == 3 && (text[0] | 0x20) == 'n' &&
         (text[1] | 0x20) == 'a' && (text[2] | 0x20) == 'n';
}

std::string_view FormName(TimeForm form) {
  return form == TimeForm::kSeconds ? "seconds" : "RFC 3339";
}

}  // namespace

Channel ChannelOfHeading(std::string_view heading) {
  Channel channel;
  const size_t open = heading.rfind('[');
  if (open == std::string_view::npos || open == 0 || heading.back() != ']') {
    channel.name = heading;
    return channel;
  }
  std::string_view name = heading.substr(0, open);
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  channel.name = name;
  channel.unit = heading.substr(open + 1, heading.size() - open - 2);
  return channel;
}

std::string HeadingOfChannel(const Channel& channel) {
  const bool misread = !channel.name.empty() && channel.name.back() == ']';
  if (channel.unit.empty() && !misread) return channel.name;
  return absl::StrFormat("%s[%s]", channel.name, channel.unit);
}

absl::StatusOr<CsvReader> CsvReader::Open(const std::string& path) {
  absl::StatusOr<CsvRows> rows = CsvRows::Open(path);
  if (!rows.ok()) return rows.status();
  CsvReader reader(*std::move(rows));
  const absl::Status header = reader.ReadHeader();
  if (!header.ok()) return header;
  return reader;
}

absl::StatusOr<CsvReader> CsvReader::Create(std::unique_ptr<std::istream> input,
                                            std::string name) {
  CsvReader reader(CsvRows(std::move(input), std::move(name)));
  const absl::Status header = reader.ReadHeader();
  if (!header.ok()) return header;
  return reader;
}

absl::Status CsvReader::ReadHeader() {
  const absl::StatusOr<bool> found = rows_.Next(cells_);
  if (!found.ok()) return found.status();
  if (!*found) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s is empty; expected a header: time, then the channels",
        rows_.name()));
  }
  if (cells_[0] != "time") {
    return rows_.CellError(0, "first of the header", cells_[0],
                           "found; the header's first column must be time");
  }
  std::vector<Channel> channels;
  headings_.emplace_back("time");
  for (size_t column = 1; column < cells_.size(); ++column) {
    headings_.emplace_back(cells_[column]);
    channels.push_back(ChannelOfHeading(cells_[column]));
  }
  absl::StatusOr<ChannelSet> set = ChannelSet::Create(std::move(channels));
  if (!set.ok()) {
    return rows_.RowError(
        absl::StrFormat("the header: %s", std::string(set.status().message())));
  }
  channels_ = *std::move(set);
  return absl::OkStatus();
}

absl::StatusOr<bool> CsvReader::Next(int64_t& time_ns,
                                     std::span<float> samples) {
  absl::StatusOr<bool> found = rows_.Next(cells_);
  if (!found.ok() || !*found) return found;
  if (cells_.size() != headings_.size()) {
    return rows_.RowError(absl::StrFormat("%d cells; the header has %d columns",
                                          cells_.size(), headings_.size()));
  }
  const absl::StatusOr<int64_t> time = ReadTime(cells_[0]);
  if (!time.ok()) return time.status();
  for (size_t column = 1; column < cells_.size(); ++column) {
    const absl::StatusOr<float> sample = ReadSample(column, cells_[column]);
    if (!sample.ok()) return sample.status();
    samples[column - 1] = *sample;
  }
  time_ns = *time;
  return true;
}

absl::StatusOr<int64_t> CsvReader::ReadTime(std::string_view text) {
  const absl::StatusOr<TimeStamp> stamp = ParseTimeStamp(text);
  if (!stamp.ok()) {
    return rows_.RowError(absl::StrFormat(
        "column 1 (time): %s", std::string(stamp.status().message())));
  }
  if (!form_) form_ = stamp->form;
  if (stamp->form != *form_) {
    return rows_.CellError(
        0, "time", text,
        absl::StrFormat("is in %s; the rows before are in %s",
                        FormName(stamp->form), FormName(*form_)));
  }
  if (last_ns_ && stamp->time_ns <= *last_ns_) {
    return rows_.CellError(
        0, "time", text,
        absl::StrFormat("does not increase; the row before is at %s",
                        FormatTimeStamp(*last_ns_, *form_)));
  }
  last_ns_ = stamp->time_ns;
  return stamp->time_ns;
}

absl::StatusOr<float> CsvReader::ReadSample(size_t column,
                                            std::string_view text) const {
  if (text.empty() || IsNan(text)) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  std::string_view digits = text;
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') {
    digits.remove_prefix(1);
  }
  // As a double first, so that what a float cannot hold is told from what is
  // no number at all.
  double value = 0;
  const auto parsed =
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (parsed.ec == std::errc::invalid_argument ||
      parsed.ptr != digits.data() + digits.size() || std::isnan(value)) {
    return rows_.CellError(
        column, headings_[column], text,
        "is no number; expected a decimal number with a point, an empty cell "
        "or nan");
  }
  if (parsed.ec == std::errc::result_out_of_range ||
      !(std::fabs(value) <= kMaxSample)) {
    return rows_.CellError(
        column, headings_[column], text,
        absl::StrFormat("is out of range; magnitudes up to %g are allowed, and "
                        "an empty cell for missing",
                        kMaxSample));
  }
  return static_cast<float>(value);
}

absl::StatusOr<Series> ReadCsv(const std::string& path) {
  absl::StatusOr<CsvReader> reader = CsvReader::Open(path);
  if (!reader.ok()) return reader.status();

  Series series;
  series.channels = reader->channels();
  std::vector<float> instant(series.channels.size());
  int64_t time_ns = 0;
  while (true) {
    const absl::StatusOr<bool> found = reader->Next(time_ns, instant);
    if (!found.ok()) return found.status();
    if (!*found) break;
    if (series.time_ns.size() == std::numeric_limits<int>::max()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s holds more than %d instants; split it", path,
                          std::numeric_limits<int>::max()));
    }
    series.time_ns.push_back(time_ns);
    series.samples.insert(series.samples.end(), instant.begin(), instant.end());
  }
  if (series.time_ns.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s has a header but no instant; expected at least one row", path));
  }
  series.time_form = reader->time_form();
  return series;
}

}  // namespace telltale::data
