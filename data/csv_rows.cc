// Grammar (RFC 4180, with tolerance):
//   file = [BOM] *(row / comment / blank)
//   row  = cell *(separator cell) [CR] LF
//   cell = *space (DQUOTE *(character / 2DQUOTE) DQUOTE / *character) *space

#include "data/csv_rows.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"

#include "data/file_stream.h"

namespace telltale::data {
namespace {

constexpr std::streamsize kReadBytes = 64 << 10;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string_view Trim(std::string_view text, char separator) {
  const auto is_space = [separator](char c) {
    return c == ' ' || (c == '\t' && separator != '\t');
  };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// The first comma, semicolon or tab outside quotes; a comma if there is none.
char DetectSeparator(std::string_view line) {
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == ',' || c == ';' || c == '\t')) return c;
  }
  return ',';
}

// For a message: at most 40 bytes, nothing that could damage a terminal.
std::string Quoted(std::string_view text) {
  const bool whole = text.size() <= 40;
  return absl::StrFormat("\"%s%s\"",
                         absl::CHexEscape(std::string(text.substr(0, 40))),
                         whole ? "" : "...");
}

}  // namespace

absl::StatusOr<CsvRows> CsvRows::Open(const std::string& path) {
  absl::StatusOr<std::ifstream> file = OpenFile(path);
  if (!file.ok()) return file.status();
  return CsvRows(std::make_unique<std::ifstream>(*std::move(file)), path);
}

CsvRows::CsvRows(std::unique_ptr<std::istream> input, std::string name)
    : input_(std::move(input)), name_(std::move(name)) {}

absl::StatusOr<bool> CsvRows::Next(std::vector<std::string_view>& cells) {
  while (true) {
    absl::StatusOr<bool> more = NextLine();
    if (!more.ok() || !*more) return more;
    if (!Trim(text_, separator_).empty() && text_.front() != '#') break;
  }
  if (separator_ == 0) separator_ = DetectSeparator(text_);
  const absl::Status split = Split(cells);
  if (!split.ok()) return split;
  return true;
}

absl::Status CsvRows::RowError(std::string_view problem) const {
  return absl::InvalidArgumentError(
      absl::StrFormat("%s, line %d: %s", name_, line_, problem));
}

absl::Status CsvRows::CellError(size_t column, std::string_view heading,
                                std::string_view text,
                                std::string_view problem) const {
  return RowError(absl::StrFormat("column %d (%s): %s %s", column + 1,
                                  absl::CHexEscape(std::string(heading)),
                                  Quoted(text), problem));
}

absl::StatusOr<bool> CsvRows::NextLine() {
  size_t searched = begin_;
  size_t end = 0;
  while ((end = buffer_.find('\n', searched)) == std::string::npos) {
    if (buffer_.size() - begin_ > kMaxLineBytes) {
      ++line_;
      return RowError(absl::StrFormat(
          "the line is longer than %d bytes; is this a text file?",
          kMaxLineBytes));
    }
    buffer_.erase(0, begin_);
    begin_ = 0;
    searched = buffer_.size();
    Refill();
    if (input_->bad()) {
      return absl::DataLossError(absl::StrFormat("cannot read %s", name_));
    }
    if (buffer_.size() > searched) continue;
    if (buffer_.empty()) return false;
    // The last line lacks its line feed.
    buffer_ += '\n';
  }
  std::string_view line(buffer_.data() + begin_, end - begin_);
  begin_ = end + 1;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line_ == 0 && line.substr(0, 3) == kByteOrderMark) line.remove_prefix(3);
  ++line_;
  text_.assign(line);
  return true;
}

// Takes what the input has ready and no more, so that a row of a live pipe is
// not held back until the buffer is full.
void CsvRows::Refill() {
  input_->peek();
  const std::streamsize ready = std::clamp<std::streamsize>(
      input_->good() ? input_->rdbuf()->in_avail() : 0, 0, kReadBytes);
  const size_t size = buffer_.size();
  buffer_.resize(size + ready);
  input_->read(buffer_.data() + size, ready);
  buffer_.resize(size + input_->gcount());
}

absl::Status CsvRows::Split(std::vector<std::string_view>& cells) {
  cells.clear();
  size_t begin = 0;
  while (true) {
    if (cells.size() == kMaxColumns) {
      return RowError(absl::StrFormat("more than %d columns", kMaxColumns));
    }
    size_t first = begin;
    while (first < text_.size() && text_[first] == ' ') ++first;
    size_t end = 0;
    std::string_view cell;
    if (first < text_.size() && text_[first] == '"') {
      const absl::StatusOr<size_t> after = Unquote(first, cell);
      if (!after.ok()) return after.status();
      end = *after;
    } else {
      end = std::min(text_.find(separator_, begin), text_.size());
      cell =
          Trim(std::string_view(text_).substr(begin, end - begin), separator_);
    }
    cells.push_back(cell);
    if (end == text_.size()) return absl::OkStatus();
    begin = end + 1;
  }
}

// Resolves the quoted cell that opens at `begin`, in place (it only shrinks).
// Returns the position of the separator behind it, or of the line's end.
absl::StatusOr<size_t> CsvRows::Unquote(size_t begin, std::string_view& cell) {
  size_t write = begin + 1;
  size_t read = begin + 1;
  while (true) {
    if (read == text_.size()) return RowError("a quote is not closed");
    if (text_[read] != '"') {
      text_[write++] = text_[read++];
    } else if (read + 1 < text_.size() && text_[read + 1] == '"') {
      text_[write++] = '"';
      read += 2;
    } else {
      break;
    }
  }
  cell = std::string_view(text_).substr(begin + 1, write - begin - 1);
  ++read;
  while (read < text_.size() && text_[read] == ' ') ++read;
  if (read < text_.size() && text_[read] != separator_) {
    return RowError(
        absl::StrFormat("text follows the quoted cell %s", Quoted(cell)));
  }
  return read;
}

}  // namespace telltale::data
