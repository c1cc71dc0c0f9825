#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace telltale::data {

// Reads separated text row by row in constant memory.
//
// The separator is the first comma, semicolon or tab of the first row that
// stands outside quotes. Tolerates a byte order mark, CRLF, blank lines,
// comment lines that begin with #, spaces about cells, and quoted cells (a
// doubled quote is a quote; a quoted cell ends on its line). Not thread-safe.
class CsvRows {
 public:
  static constexpr size_t kMaxLineBytes = size_t{4} << 20;
  static constexpr size_t kMaxColumns = 8192;

  // kNotFound, kPermissionDenied: the file cannot be opened.
  static absl::StatusOr<CsvRows> Open(const std::string& path);

  // `name` stands for the input in messages.
  CsvRows(std::unique_ptr<std::istream> input, std::string name);

  // Moves to the next row and puts its cells into `cells`, as views that hold
  // until the next call. False at the end of the input. kInvalidArgument: a
  // line too long, too many columns, a quote not closed. kDataLoss: the input
  // cannot be read.
  absl::StatusOr<bool> Next(std::vector<std::string_view>& cells);

  // An InvalidArgumentError about the current row, or about one of its cells
  // (`column` counts from zero): the file, the line, the column and its
  // heading, the text found, and what is wrong with it.
  absl::Status RowError(std::string_view problem) const;
  absl::Status CellError(size_t column, std::string_view heading,
                         std::string_view text, std::string_view problem) const;

  const std::string& name() const { return name_; }
  // Of the current row; the first line of the file is 1.
  int64_t line() const { return line_; }

 private:
  absl::StatusOr<bool> NextLine();
  void Refill();
  absl::Status Split(std::vector<std::string_view>& cells);
  absl::StatusOr<size_t> Unquote(size_t begin, std::string_view& cell);

  std::unique_ptr<std::istream> input_;
  std::string name_;
  int64_t line_ = 0;
  char separator_ = 0;  // 0: not seen yet
  std::string buffer_;  // read ahead; [begin_, size) is still to come
  size_t begin_ = 0;
  std::string text_;  // the current line, quotes resolved in place
};

}  // namespace telltale::data
