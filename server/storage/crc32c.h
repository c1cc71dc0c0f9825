#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace telltale::server {

// The Castagnoli checksum (RFC 3720, appendix B.4) of `bytes`, going on from
// `crc`, the checksum of what came before.
uint32_t Crc32c(std::string_view bytes, uint32_t crc = 0);

}  // namespace telltale::server
