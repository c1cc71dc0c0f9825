#include "server/storage/crc32c.h"

#include <string>

#include <gtest/gtest.h>

namespace telltale::server {
namespace {

TEST(Crc32c, GivesTheValuesOfRfc3720) {
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(Crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  EXPECT_EQ(Crc32c(""), 0U);
}

TEST(Crc32c, GoesOnFromTheChecksumOfWhatCameBefore) {
  const std::string text = "pump inlet pressure, pump speed, coolant flow";

  for (size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(Crc32c(text.substr(cut), Crc32c(text.substr(0, cut))),
              Crc32c(text));
  }
}

}  // namespace
}  // namespace telltale::server
