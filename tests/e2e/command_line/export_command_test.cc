// telltale export, as typed.

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/command_line/command_line_fixture.h"

namespace telltale::testing {
namespace {

using ::testing::HasSubstr;

using ExportCommandTest = CommandLineFixture;

TEST_F(ExportCommandTest, WritesTheModelForWindowsOfTheLengthAskedFor) {
  const std::string model = TrainSmall();
  const std::string onnx = Path("model.onnx");

  EXPECT_EQ(
      Succeed({"export", "--model", model, "--onnx", onnx, "--length", "50"}),
      onnx + ": input [batch, 50, 24], forecast [batch, 50, 24]\n");
  const auto bytes = std::filesystem::file_size(onnx);
  Succeed({"export", "--model", model, "--onnx", onnx, "--length", "100"});
  EXPECT_GT(std::filesystem::file_size(onnx), bytes);  // larger masks
}

TEST_F(ExportCommandTest, WritesTheModelForTheNextInstant) {
  const std::string model = TrainSmall();
  const std::string onnx = Path("step.onnx");

  EXPECT_EQ(Succeed({"export", "--model", model, "--onnx", onnx, "--step"}),
            onnx +
                ": input [batch, 216], forecast [batch, 24]; keys and values "
                "of 2 layers go round\n");
  EXPECT_GT(std::filesystem::file_size(onnx), 10'000U);
  EXPECT_EQ(Run({"export", "--model", model, "--onnx", onnx, "--step",
                 "--length", "50"})
                .exit_code,
            2);
}

TEST_F(ExportCommandTest, NeverWritesOverTheModel) {
  const std::string model = TrainSmall();

  const Outcome outcome = Run({"export", "--model", model, "--onnx", model});

  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("--onnx: " + model + " is read as well"));
  Succeed({"inspect", "--model", model});
}

TEST_F(ExportCommandTest, NamesWhatIsWrong) {
  const std::string onnx = Path("model.onnx");

  const Outcome missing = Run({"export", "--model", "none", "--onnx", onnx});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, HasSubstr("none"));
  const Outcome length =
      Run({"export", "--model", "none", "--onnx", onnx, "--length", "0"});
  EXPECT_EQ(length.exit_code, 2);
  EXPECT_THAT(length.err, HasSubstr("--length"));
  EXPECT_FALSE(std::filesystem::exists(onnx));
}

}  // namespace
}  // namespace telltale::testing
