#include "server/storage/payload_hash.h"

#include <cassert>
#include <cstddef>
#include <memory>

#include <openssl/evp.h>

namespace telltale::server {

PayloadHash HashPayload(std::span<const int64_t> time_ns,
                        std::span<const float> samples,
                        std::span<const int64_t> reception_time_ns) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(
      EVP_MD_CTX_new(), EVP_MD_CTX_free);
  PayloadHash hash{};
  // The lengths keep apart what would otherwise be the same bytes.
  const uint64_t lengths[] = {time_ns.size(), samples.size(),
                              reception_time_ns.size()};
  bool ok = EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  const std::span<const std::byte> parts[] = {
      std::as_bytes(std::span(lengths)), std::as_bytes(time_ns),
      std::as_bytes(samples), std::as_bytes(reception_time_ns)};
  for (const std::span<const std::byte> bytes : parts) {
    ok = ok && EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1;
  }
  ok = ok && EVP_DigestFinal_ex(context.get(), hash.data(), nullptr) == 1;
  assert(ok);  // SHA-256 is always there
  static_cast<void>(ok);
  return hash;
}

}  // namespace telltale::server
