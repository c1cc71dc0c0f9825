#include "server/cli/markdown.h"

#include <string_view>

namespace telltale::server {
namespace {

std::string Row(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += ' ' + cell + " |";
  return text + '\n';
}

}  // namespace

std::string EscapeMarkdown(const std::string& text) {
  constexpr std::string_view kMarkup = "\\`*<>[]|#~";
  std::string escaped;
  for (const char c : text) {
    const bool control = static_cast<unsigned char>(c) < ' ';
    if (kMarkup.find(c) != std::string_view::npos) escaped += '\\';
    escaped += control ? ' ' : c;
  }
  return escaped;
}

MarkdownTable::MarkdownTable(const std::vector<std::string>& headings)
    : text_(Row(headings) + "|---") {
  for (size_t i = 1; i < headings.size(); ++i) text_ += "|---:";
  text_ += "|\n";
}

void MarkdownTable::Add(const std::vector<std::string>& cells) {
  text_ += Row(cells);
}

}  // namespace telltale::server
