#include "server/cli/score_table.h"

#include <cmath>
#include <iostream>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include <nlohmann/json.hpp>

#include "data/csv_writer.h"
#include "data/time_stamp.h"

namespace telltale::server {
namespace {

constexpr int kMaxCauses = 5;

// The shortest decimal number that reads back to the same float; empty for NaN.
std::string Number(float value) {
  std::string text;
  data::AppendCsvSample(value, text);
  return text;
}

// A cell: its column, its text (empty: unknown), and whether JSON quotes it.
struct Cell {
  std::string column;
  std::string text;
  bool is_text = false;
};

std::vector<Cell> CellsOf(const ScoreRow& row, data::TimeForm form,
                          const ScoreColumns& columns) {
  const bool text_time = form == data::TimeForm::kRfc3339;
  const bool has_channel = !row.channel.empty();
  std::vector<Cell> cells;
  if (columns.segment) {
    cells.push_back({"segment",
                     row.segment ? absl::StrFormat("%d", *row.segment) : "",
                     false});
  }
  const std::vector<Cell> rest = {
      {"time", data::FormatTimeStamp(row.time_ns, form), text_time},
      {"state", StateName(row.state), true},
      {"score", row.score ? Number(*row.score) : "", false},
      {"threshold", Number(row.threshold), false},
      {"anomaly", row.anomaly ? "1" : "0", false},
      {"verdict", row.verdict ? Number(*row.verdict) : "", false},
      {"channel", row.channel, true},
      {"expected", has_channel ? Number(row.expected) : "", false},
      {"observed", has_channel ? Number(row.observed) : "", false}};
  cells.insert(cells.end(), rest.begin(), rest.end());
  for (int i = 0; i < kMaxCauses; ++i) {
    const std::string prefix =
        i == 0 ? "cause" : absl::StrFormat("cause%d", i + 1);
    const bool known = i < static_cast<int>(row.causes.size());
    const ScoreRow::Cause cause = known ? row.causes[i] : ScoreRow::Cause{};
    cells.push_back({absl::StrFormat("%s_time", prefix),
                     known ? data::FormatTimeStamp(cause.time_ns, form) : "",
                     text_time});
    cells.push_back({absl::StrFormat("%s_weight", prefix),
                     known ? Number(cause.weight) : "", false});
    cells.push_back(
        {absl::StrFormat("%s_channel", prefix), cause.channel, true});
  }
  if (columns.masking) {
    const auto& masking = row.masking;
    cells.push_back(
        {"masking_pointed", masking ? Number(masking->pointed) : "", false});
    cells.push_back(
        {"masking_random", masking ? Number(masking->random) : "", false});
  }
  if (columns.trained) {
    cells.push_back({"trained", row.trained ? "1" : "0", false});
  }
  return cells;
}

void AppendCsvLine(const std::vector<Cell>& cells, std::string Cell::*field,
                   std::string& line) {
  for (const Cell& cell : cells) {
    if (&cell != cells.data()) line += ',';
    line += data::CsvCell(cell.*field);
  }
  line += '\n';
}

void AppendJsonLine(const std::vector<Cell>& cells, std::string& line) {
  line += '{';
  for (const Cell& cell : cells) {
    if (&cell != cells.data()) line += ',';
    line += absl::StrFormat("\"%s\":", cell.column);
    if (cell.text.empty()) {
      line += "null";
    } else if (cell.is_text) {
      line += nlohmann::json(cell.text).dump(
          -1, ' ', false, nlohmann::json::error_handler_t::replace);
    } else {
      line += cell.text;
    }
  }
  line += "}\n";
}

std::string Quantity(float value, const std::string& unit) {
  if (std::isnan(value)) return "nothing";
  // Four digits, and all of those before the point while people can read them.
  const float magnitude = std::abs(value);
  std::string text = magnitude >= 1e3F && magnitude < 1e7F
                         ? absl::StrFormat("%.0f", value)
                         : absl::StrFormat("%.4g", value);
  return unit.empty() ? text : text + " " + unit;
}

}  // namespace

const char* StateName(model::InstantState state) {
  switch (state) {
    case model::InstantState::kScored:
      return "SCORED";
    case model::InstantState::kWarmingUp:
      return "WARMING_UP";
    case model::InstantState::kIncomplete:
      return "INCOMPLETE";
    case model::InstantState::kLate:
      return "LATE";
  }
  return "WARMING_UP";
}

ScoreRow RowOf(const model::InstantScore& score,
               const data::ChannelSet& channels, float threshold) {
  const auto name = [&channels](int channel) {
    return channel >= 0 && channel < channels.size() ? channels[channel].name
                                                     : std::string();
  };
  ScoreRow row;
  row.time_ns = score.time_ns;
  row.state = score.state;
  if (score.state == model::InstantState::kScored) row.score = score.score;
  row.threshold = threshold;
  row.verdict = score.verdict;
  row.anomaly = score.anomaly;
  if (!score.contributions.empty()) {
    const model::Contribution& largest = score.contributions.front();
    row.channel = name(largest.channel);
    if (!row.channel.empty()) row.unit = channels[largest.channel].unit;
    row.expected = largest.expected;
    row.observed = largest.observed;
  }
  for (const model::PointedInstant& p : score.points_back_to) {
    row.causes.push_back({p.time_ns, p.lag, p.weight, name(p.channel)});
  }
  row.masking = score.masking;
  return row;
}

std::string DescribeAnomaly(const ScoreRow& row, data::TimeForm form) {
  std::string text = absl::StrFormat(
      "%s  score %.2f (threshold %.2f)",
      data::FormatTimeStamp(row.time_ns, form),
      row.score.value_or(std::numeric_limits<float>::quiet_NaN()),
      row.threshold);
  if (!row.channel.empty()) {
    text += absl::StrFormat("  %s: expected %s, observed %s", row.channel,
                            Quantity(row.expected, row.unit),
                            Quantity(row.observed, row.unit));
  }
  if (!row.causes.empty()) {
    const ScoreRow::Cause& cause = row.causes.front();
    text +=
        absl::StrFormat("  points back to t-%d: %s", cause.lag, cause.channel);
  }
  return text;
}

std::string DescribeNominal(const ScoreRow& row, data::TimeForm form) {
  const std::string time = data::FormatTimeStamp(row.time_ns, form);
  return row.score ? absl::StrFormat("%s  score %.2f (threshold %.2f)", time,
                                     *row.score, row.threshold)
                   : absl::StrFormat("%s  %s", time, StateName(row.state));
}

absl::StatusOr<ScoreTable> ScoreTable::Create(const std::string& path,
                                              Format format,
                                              data::TimeForm form,
                                              ScoreColumns columns,
                                              Placement placement) {
  std::optional<data::OutputFile> file;
  if (!path.empty()) {
    absl::StatusOr<data::OutputFile> created =
        placement == Placement::kWhenClosed
            ? data::OutputFile::Create(path)
            : data::OutputFile::CreateInPlace(path);
    if (!created.ok()) return created.status();
    file.emplace(*std::move(created));
  }
  ScoreTable table(format, form, columns, std::move(file));
  if (format == Format::kCsv) {
    AppendCsvLine(CellsOf({}, form, columns), &Cell::column, table.line_);
    table.out() << table.line_;
  }
  return table;
}

ScoreTable::ScoreTable(Format format, data::TimeForm form, ScoreColumns columns,
                       std::optional<data::OutputFile> file)
    : format_(format), form_(form), columns_(columns), file_(std::move(file)) {}

std::ostream& ScoreTable::out() { return file_ ? file_->stream() : std::cout; }

void ScoreTable::Append(const ScoreRow& row) {
  line_.clear();
  const std::vector<Cell> cells = CellsOf(row, form_, columns_);
  if (format_ == Format::kCsv) {
    AppendCsvLine(cells, &Cell::text, line_);
  } else {
    AppendJsonLine(cells, line_);
  }
  out() << line_;
}

absl::Status ScoreTable::Close() {
  if (file_) return file_->Close();
  std::cout.flush();
  if (std::cout) return absl::OkStatus();
  return absl::DataLossError(
      "standard output: not everything could be written; is the disk full?");
}

}  // namespace telltale::server
