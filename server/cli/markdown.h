#pragma once

#include <string>
#include <vector>

namespace telltale::server {

// Text as a cell or a word of Markdown: what would be taken for markup, or end
// the cell, is escaped.
std::string EscapeMarkdown(const std::string& text);

// Rows of cells, which are Markdown already; the first column stands left, the
// others right.
class MarkdownTable {
 public:
  explicit MarkdownTable(const std::vector<std::string>& headings);
  // REQUIRES: as many cells as headings.
  void Add(const std::vector<std::string>& cells);
  // With an empty line behind it.
  std::string Text() const { return text_ + '\n'; }

 private:
  std::string text_;
};

}  // namespace telltale::server
