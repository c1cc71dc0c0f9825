#include "server/cli/score_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

#include "data/csv_rows.h"
#include "data/time_stamp.h"

namespace telltale::server {
namespace {

constexpr std::array<std::string_view, 14> kHeadings = {
    "time",           "score",       "anomaly",
    "cause_time",     "cause2_time", "cause3_time",
    "cause4_time",    "cause5_time", "masking_pointed",
    "masking_random", "trained",     "segment",
    "channel",        "threshold"};
constexpr size_t kTime = 0;
constexpr size_t kScore = 1;
constexpr size_t kAnomaly = 2;
constexpr size_t kFirstCause = 3;
constexpr size_t kEndCause = 8;
constexpr size_t kMaskingPointed = 8;
constexpr size_t kMaskingRandom = 9;
constexpr size_t kTrained = 10;
constexpr size_t kSegment = 11;
constexpr size_t kChannel = 12;
constexpr size_t kThreshold = 13;

class ScoreFileReader {
 public:
  explicit ScoreFileReader(data::CsvRows rows) : rows_(std::move(rows)) {}

  absl::Status ReadHeader();
  absl::StatusOr<ScoreFile> ReadRows();

 private:
  bool Has(size_t field) const { return columns_[field].has_value(); }
  std::string_view Text(size_t field) const { return cells_[*columns_[field]]; }
  absl::Status Error(size_t field, std::string_view problem) const {
    return rows_.CellError(*columns_[field], kHeadings[field], Text(field),
                           problem);
  }

  absl::Status ReadRow();
  absl::StatusOr<int64_t> ReadTime(size_t field);
  // An empty cell is none.
  absl::StatusOr<std::optional<float>> ReadNumber(size_t field) const;
  absl::StatusOr<bool> ReadFlag(size_t field) const;
  absl::Status ReadSegment();
  void ReadChannel();
  absl::Status ReadCauses();
  absl::Status ReadMasking();

  data::CsvRows rows_;
  std::array<std::optional<size_t>, kHeadings.size()> columns_;
  size_t column_count_ = 0;
  std::vector<std::string_view> cells_;
  ScoreFile file_;
  std::vector<int> unscored_;
  absl::flat_hash_map<std::string, int> channels_;  // by name
};

absl::Status ScoreFileReader::ReadHeader() {
  const absl::StatusOr<bool> found = rows_.Next(cells_);
  if (!found.ok()) return found.status();
  if (!*found) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s is empty; expected the header of a score table", rows_.name()));
  }
  column_count_ = cells_.size();
  for (size_t column = 0; column < cells_.size(); ++column) {
    const auto heading = std::ranges::find(kHeadings, cells_[column]);
    if (heading == kHeadings.end()) continue;
    std::optional<size_t>& place =
        columns_[static_cast<size_t>(heading - kHeadings.begin())];
    if (place.has_value()) {
      return rows_.CellError(column, "header", cells_[column], "stands twice");
    }
    place = column;
  }
  for (const size_t field : {kTime, kScore, kAnomaly}) {
    if (Has(field)) continue;
    return rows_.RowError(
        absl::StrFormat("the header lacks %s; a score table needs time, score "
                        "and anomaly, as `telltale score` writes them",
                        kHeadings[field]));
  }
  file_.has_causes = Has(kFirstCause);
  return absl::OkStatus();
}

absl::StatusOr<ScoreFile> ScoreFileReader::ReadRows() {
  while (true) {
    const absl::StatusOr<bool> found = rows_.Next(cells_);
    if (!found.ok()) return found.status();
    if (!*found) break;
    if (file_.time_ns.size() == std::numeric_limits<int>::max()) {
      return rows_.RowError("more rows than can be evaluated; split the file");
    }
    if (absl::Status status = ReadRow(); !status.ok()) return status;
  }
  file_.scored = file_.length() - static_cast<int>(unscored_.size());
  if (file_.scored == 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s holds no score: %d rows, none of them scored; is the recording "
        "longer than the model's context?",
        rows_.name(), file_.length()));
  }
  float lowest = std::numeric_limits<float>::infinity();
  for (const float score : file_.scores) {
    if (!std::isnan(score)) lowest = std::min(lowest, score);
  }
  for (const int t : unscored_) file_.scores[t] = lowest;
  return std::move(file_);
}

absl::Status ScoreFileReader::ReadRow() {
  if (cells_.size() != column_count_) {
    return rows_.RowError(absl::StrFormat("%d cells; the header has %d columns",
                                          cells_.size(), column_count_));
  }
  if (Has(kSegment)) {
    if (absl::Status status = ReadSegment(); !status.ok()) return status;
  }
  const absl::StatusOr<int64_t> time_ns = ReadTime(kTime);
  if (!time_ns.ok()) return time_ns.status();
  if (!file_.time_ns.empty() && *time_ns <= file_.time_ns.back()) {
    return Error(kTime, "does not increase");
  }
  const absl::StatusOr<std::optional<float>> score = ReadNumber(kScore);
  if (!score.ok()) return score.status();
  const absl::StatusOr<bool> anomaly = ReadFlag(kAnomaly);
  if (!anomaly.ok()) return anomaly.status();
  if (!score->has_value()) {
    if (*anomaly) return Error(kAnomaly, "stands in a row without a score");
    unscored_.push_back(file_.length());
  }
  file_.time_ns.push_back(*time_ns);
  file_.scores.push_back(
      score->value_or(std::numeric_limits<float>::quiet_NaN()));
  file_.alarms.push_back(*anomaly ? 1 : 0);
  if (Has(kTrained)) {
    const absl::StatusOr<bool> trained = ReadFlag(kTrained);
    if (!trained.ok()) return trained.status();
    file_.trained += *trained ? 1 : 0;
  }
  if (Has(kChannel)) ReadChannel();
  if (Has(kThreshold)) {
    const absl::StatusOr<std::optional<float>> threshold =
        ReadNumber(kThreshold);
    if (!threshold.ok()) return threshold.status();
    if (threshold->has_value()) file_.threshold = *threshold;
  }
  if (!*anomaly) return absl::OkStatus();
  if (absl::Status status = ReadCauses(); !status.ok()) return status;
  return ReadMasking();
}

absl::StatusOr<int64_t> ScoreFileReader::ReadTime(size_t field) {
  const absl::StatusOr<data::TimeStamp> stamp =
      data::ParseTimeStamp(Text(field));
  if (!stamp.ok()) {
    return Error(field, "is no time; expected seconds or RFC 3339");
  }
  if (file_.time_ns.empty() && field == kTime) file_.time_form = stamp->form;
  if (stamp->form != file_.time_form) {
    return Error(field, "is in another form than the first row's time");
  }
  return stamp->time_ns;
}

absl::StatusOr<std::optional<float>> ScoreFileReader::ReadNumber(
    size_t field) const {
  const std::string_view text = Text(field);
  if (text.empty()) return std::nullopt;
  float number = 0;
  const auto parsed =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() ||
      !std::isfinite(number)) {
    return Error(field, absl::StrFormat("is no %s; expected a finite number, "
                                        "or an empty cell for none",
                                        kHeadings[field]));
  }
  return number;
}

absl::StatusOr<bool> ScoreFileReader::ReadFlag(size_t field) const {
  const std::string_view text = Text(field);
  if (text == "1") return true;
  if (text == "0") return false;
  return Error(field, "is neither 0 nor 1");
}

absl::Status ScoreFileReader::ReadSegment() {
  int segment = 0;
  if (!absl::SimpleAtoi(
          absl::string_view(Text(kSegment).data(), Text(kSegment).size()),
          &segment) ||
      segment < 0) {
    return Error(kSegment, "is no segment; expected a number from 0 on");
  }
  if (file_.segment && segment != *file_.segment) {
    return Error(kSegment,
                 "is another than the first row's; leave the rows of one "
                 "segment in the table, and evaluate each on its own");
  }
  file_.segment = segment;
  return absl::OkStatus();
}

void ScoreFileReader::ReadChannel() {
  const std::string name(Text(kChannel));
  if (name.empty()) {
    file_.top_channel.push_back(-1);
    return;
  }
  const int next = static_cast<int>(file_.channel_names.size());
  const auto [place, added] = channels_.try_emplace(name, next);
  if (added) file_.channel_names.push_back(name);
  file_.top_channel.push_back(place->second);
}

absl::Status ScoreFileReader::ReadCauses() {
  std::vector<int64_t> causes;
  for (size_t field = kFirstCause; field < kEndCause; ++field) {
    if (!Has(field) || Text(field).empty()) continue;
    const absl::StatusOr<int64_t> time_ns = ReadTime(field);
    if (!time_ns.ok()) return time_ns.status();
    causes.push_back(*time_ns);
  }
  if (!causes.empty()) {
    file_.causes_ns.emplace(file_.length() - 1, std::move(causes));
  }
  return absl::OkStatus();
}

absl::Status ScoreFileReader::ReadMasking() {
  if (!Has(kMaskingPointed) || !Has(kMaskingRandom)) return absl::OkStatus();
  const auto pointed = ReadNumber(kMaskingPointed);
  if (!pointed.ok()) return pointed.status();
  const auto random = ReadNumber(kMaskingRandom);
  if (!random.ok()) return random.status();
  if (pointed->has_value() != random->has_value()) {
    return Error(kMaskingRandom,
                 "and masking_pointed go together; fill both cells or neither");
  }
  if (pointed->has_value()) {
    file_.masking[file_.length() - 1] = {**pointed, **random};
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ScoreFile> ReadScoreFile(const std::string& path) {
  absl::StatusOr<data::CsvRows> rows = data::CsvRows::Open(path);
  if (!rows.ok()) return rows.status();
  ScoreFileReader reader(*std::move(rows));
  if (absl::Status status = reader.ReadHeader(); !status.ok()) return status;
  return reader.ReadRows();
}

}  // namespace telltale::server
