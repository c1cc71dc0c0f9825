#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace telltale::server {

// Names of channels, streams and the like are 1 to 256 bytes; a message shows
// the beginning.
constexpr size_t kShownBytes = 80;

// Text from outside, fit for a message of ours: on one line, and UTF-8.
// Control characters become escapes such as \n and \x1b, as do bytes that are
// no UTF-8; what is beyond `max_bytes` becomes "...".
std::string Printable(std::string_view text, size_t max_bytes = kShownBytes);

}  // namespace telltale::server
