#include "data/labels.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ostream>
#include <string_view>
#include <system_error>

#include "absl/strings/str_format.h"

#include "data/csv_rows.h"
#include "data/csv_writer.h"
#include "data/output_file.h"
#include "data/time_stamp.h"

namespace telltale::data {
namespace {

enum LabelColumn {
  kStart,
  kEnd,
  kCauseStart,
  kCauseEnd,
  kCauseChannel,
  kKind,
  kChannel,
  kSegment,
  kLabelColumnCount,
};

constexpr std::array<std::string_view, kLabelColumnCount> kHeadings = {
    "start",         "end",  "cause_start", "cause_end",
    "cause_channel", "kind", "channel",     "segment"};

// Where each column stands in the file; nullopt: absent.
using Columns = std::array<std::optional<size_t>, kLabelColumnCount>;

std::optional<LabelColumn> FindHeading(std::string_view heading) {
  for (int i = 0; i < kLabelColumnCount; ++i) {
    if (kHeadings[i] == heading) return static_cast<LabelColumn>(i);
  }
  return std::nullopt;
}

absl::StatusOr<Columns> ReadHeader(const CsvRows& rows,
                                   const std::vector<std::string_view>& cells) {
  Columns columns;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::optional<LabelColumn> column = FindHeading(cells[i]);
    if (!column) {
      return rows.CellError(i, "header", cells[i],
                            "is no column of labels; expected start, end, "
                            "cause_start, cause_end, cause_channel, kind, "
                            "channel or segment");
    }
    if (columns[*column]) {
      return rows.CellError(i, "header", cells[i], "stands twice");
    }
    columns[*column] = i;
  }
  if (!columns[kStart] || !columns[kEnd]) {
    return rows.RowError("the header lacks start or end; labels need both");
  }
  if (columns[kCauseStart].has_value() != columns[kCauseEnd].has_value()) {
    return rows.RowError(
        "the header has one of cause_start and cause_end; give both or none");
  }
  return columns;
}

// One row's cells by the name of their column.
class LabelRow {
 public:
  LabelRow(const CsvRows& rows, const Columns& columns,
           const std::vector<std::string_view>& cells)
      : rows_(rows), columns_(columns), cells_(cells) {}

  std::string_view Text(LabelColumn column) const {
    return columns_[column] ? cells_[*columns_[column]] : std::string_view();
  }

  absl::StatusOr<int64_t> Time(LabelColumn column) const {
    const absl::StatusOr<TimeStamp> stamp = ParseTimeStamp(Text(column));
    if (stamp.ok()) return stamp->time_ns;
    return rows_.RowError(absl::StrFormat(
        "column %d (%s): %s", *columns_[column] + 1, kHeadings[column],
        std::string(stamp.status().message())));
  }

  absl::StatusOr<TimeRange> Range(LabelColumn start, LabelColumn end) const {
    const absl::StatusOr<int64_t> start_ns = Time(start);
    if (!start_ns.ok()) return start_ns.status();
    const absl::StatusOr<int64_t> end_ns = Time(end);
    if (!end_ns.ok()) return end_ns.status();
    if (*end_ns < *start_ns) {
      return rows_.CellError(
          *columns_[end], kHeadings[end], Text(end),
          absl::StrFormat("lies before %s %s", kHeadings[start], Text(start)));
    }
    return TimeRange{*start_ns, *end_ns};
  }

  absl::StatusOr<LabelledEvent> Event() const {
    const absl::StatusOr<TimeRange> shown = Range(kStart, kEnd);
    if (!shown.ok()) return shown.status();
    LabelledEvent event;
    event.start_ns = shown->start_ns;
    event.end_ns = shown->end_ns;
    if (!Text(kCauseStart).empty() || !Text(kCauseEnd).empty()) {
      const absl::StatusOr<TimeRange> cause = Range(kCauseStart, kCauseEnd);
      if (!cause.ok()) return cause.status();
      event.cause = *cause;
    }
    event.cause_channel = Text(kCauseChannel);
    event.kind = Text(kKind);
    event.channel = Text(kChannel);
    if (columns_[kSegment]) {
      const absl::StatusOr<int> segment = Segment();
      if (!segment.ok()) return segment.status();
      event.segment = *segment;
    }
    return event;
  }

  absl::StatusOr<int> Segment() const {
    const std::string_view text = Text(kSegment);
    int segment = -1;
    const auto parsed =
        std::from_chars(text.data(), text.data() + text.size(), segment);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() ||
        segment < 0) {
      return rows_.CellError(*columns_[kSegment], kHeadings[kSegment], text,
                             "is no segment; expected a number from 0 on");
    }
    return segment;
  }

 private:
  const CsvRows& rows_;
  const Columns& columns_;
  const std::vector<std::string_view>& cells_;
};

}  // namespace

absl::StatusOr<std::vector<LabelledEvent>> ReadLabels(const std::string& path) {
  absl::StatusOr<CsvRows> rows = CsvRows::Open(path);
  if (!rows.ok()) return rows.status();
  std::vector<std::string_view> cells;
  absl::StatusOr<bool> found = rows->Next(cells);
  if (!found.ok()) return found.status();
  if (!*found) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s is empty; expected a header: start,end,...", path));
  }
  const absl::StatusOr<Columns> columns = ReadHeader(*rows, cells);
  if (!columns.ok()) return columns.status();

  const size_t width = cells.size();
  std::vector<LabelledEvent> events;
  while ((found = rows->Next(cells)).ok() && *found) {
    if (cells.size() != width) {
      return rows->RowError(absl::StrFormat(
          "%d cells; the header has %d columns", cells.size(), width));
    }
    absl::StatusOr<LabelledEvent> event =
        LabelRow(*rows, *columns, cells).Event();
    if (!event.ok()) return event.status();
    events.push_back(*std::move(event));
  }
  if (!found.ok()) return found.status();
  return events;
}

absl::Status WriteLabels(const std::vector<LabelledEvent>& events,
                         TimeForm form, const std::string& path) {
  absl::StatusOr<OutputFile> file = OutputFile::Create(path);
  if (!file.ok()) return file.status();
  const bool segments = std::ranges::any_of(
      events, [](const LabelledEvent& e) { return e.segment.has_value(); });
  std::ostream& out = file->stream();
  out << (segments ? "segment," : "")
      << "start,end,cause_start,cause_end,cause_channel,kind,channel\n";
  for (const LabelledEvent& event : events) {
    if (segments) out << event.segment.value_or(0) << ',';
    out << FormatTimeStamp(event.start_ns, form) << ','
        << FormatTimeStamp(event.end_ns, form) << ',';
    if (event.cause) {
      out << FormatTimeStamp(event.cause->start_ns, form) << ','
          << FormatTimeStamp(event.cause->end_ns, form);
    } else {
      out << ',';
    }
    out << ',' << CsvCell(event.cause_channel) << ',' << CsvCell(event.kind)
        << ',' << CsvCell(event.channel) << '\n';
  }
  return file->Close();
}

}  // namespace telltale::data
