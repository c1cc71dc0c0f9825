#include "model/ops/precision.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace telltale::model {
namespace {

using testing::HasSubstr;

TEST(PrecisionTest, Float32IsEverywhereAndChosenByName) {
  EXPECT_TRUE(IsSupported(Precision::kFloat32));
  EXPECT_EQ(ChoosePrecision("f32").value(), Precision::kFloat32);
}

TEST(PrecisionTest, AutoIsTheFastestThatIsSupported) {
  EXPECT_EQ(ChoosePrecision("auto").value(), IsSupported(Precision::kBfloat16)
                                                 ? Precision::kBfloat16
                                                 : Precision::kFloat32);
}

// With oneDNN held to AVX2 this is refused; on a processor that has it, not.
TEST(PrecisionTest, RefusesWhatTheProcessorLacks) {
  const auto chosen = ChoosePrecision("bf16");
  ASSERT_EQ(chosen.ok(), IsSupported(Precision::kBfloat16));
  if (chosen.ok()) {
    EXPECT_EQ(*chosen, Precision::kBfloat16);
    return;
  }
  EXPECT_EQ(chosen.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(chosen.status().message()),
              HasSubstr("has no instructions for bf16"));
}

TEST(PrecisionTest, NamesTheChoicesToWhoGivesAnother) {
  const absl::Status status = ChoosePrecision("fp16").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "'fp16' is not a precision; there are auto, f32 and bf16");
}

}  // namespace
}  // namespace telltale::model
