#include "model/checkpoint/sha256.h"

#include <string>

#include "gtest/gtest.h"

namespace telltale::model {
namespace {

TEST(Sha256, EqualsTheExamplesOfTheStandard) {
  EXPECT_EQ(Sha256Hex("").value(),
            "e3b0c44298fc1c149afbf4c8996fb924"
            "27ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc").value(),
            "ba7816bf8f01cfea414140de5dae2223"
            "b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')).value(),
            "cdc76e5c9914fb9281a1c7e284d73e67"
            "f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace telltale::model
