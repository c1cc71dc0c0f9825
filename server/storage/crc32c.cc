#include "server/storage/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace telltale::server {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // reflected
constexpr size_t kSlices = 8;

using Tables = std::array<std::array<uint32_t, 256>, kSlices>;

// Table s holds the effect of a byte that lies s bytes before the end, so that
// eight bytes can be taken in one step.
constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    }
    tables[0][byte] = crc;
  }
  for (size_t s = 1; s < kSlices; ++s) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t crc = tables[s - 1][byte];
      tables[s][byte] = (crc >> 8) ^ tables[0][crc & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

}  // namespace

uint32_t Crc32c(std::string_view bytes, uint32_t crc) {
  crc = ~crc;
  while (bytes.size() >= kSlices) {
    uint64_t word = 0;  // little-endian, as every machine we build for
    std::memcpy(&word, bytes.data(), sizeof(word));
    word ^= crc;
    crc = 0;
    for (size_t s = 0; s < kSlices; ++s) {
      crc ^= kTables[kSlices - 1 - s][(word >> (8 * s)) & 0xFF];
    }
    bytes.remove_prefix(kSlices);
  }
  for (const char c : bytes) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<uint8_t>(c)) & 0xFF];
  }
  return ~crc;
}

}  // namespace telltale::server
