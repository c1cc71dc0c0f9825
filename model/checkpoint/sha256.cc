#include "model/checkpoint/sha256.h"

#include <array>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include <openssl/evp.h>

namespace telltale::model {

absl::StatusOr<std::string> Sha256Hex(std::string_view bytes) {
  std::array<uint8_t, EVP_MAX_MD_SIZE> digest = {};
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(),
                 nullptr) != 1) {
    return absl::InternalError("cannot compute a SHA-256");
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(size_t{2} * size);
  for (const uint8_t byte : std::span(digest).first(size)) {
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

}  // namespace telltale::model
