#include "server/printable.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_format.h"

namespace telltale::server {
namespace {

uint8_t Byte(std::string_view text, size_t at) {
  return static_cast<uint8_t>(text[at]);
}

// The bytes of the printable character that `text` begins with; 0: it begins
// with a control character or with what is no UTF-8.
size_t PrintableLength(std::string_view text) {
  const uint8_t lead = Byte(text, 0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7F ? 1 : 0;
  size_t length = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
  }
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((Byte(text, i) & 0xC0) != 0x80) return 0;
  }
  const uint8_t second = Byte(text, 1);
  const bool control = lead == 0xC2 && second < 0xA0;
  // Longer than need be, halves of surrogate pairs, beyond U+10FFFF.
  const bool wrong =
      (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
      (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
  return control || wrong ? 0 : length;
}

std::string Escaped(uint8_t byte) {
  switch (byte) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return absl::StrFormat("\\x%02x", byte);
  }
}

}  // namespace

std::string Printable(std::string_view text, size_t max_bytes) {
  std::string shown;
  while (!text.empty()) {
    const size_t length = PrintableLength(text);
    const std::string next = length == 0 ? Escaped(Byte(text, 0))
                                         : std::string(text.substr(0, length));
    if (shown.size() + next.size() > max_bytes) return shown + "...";
    shown += next;
    text.remove_prefix(std::max<size_t>(1, length));
  }
  return shown;
}

}  // namespace telltale::server
