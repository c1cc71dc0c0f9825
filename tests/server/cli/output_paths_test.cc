#include "server/cli/output_paths.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/temporary_file.h"

namespace telltale::server {
namespace {

using ::testing::HasSubstr;

absl::Status Check(const std::vector<OutputPath>& outputs,
                   const std::vector<std::string>& inputs) {
  return CheckOutputs(outputs, inputs);
}

std::string Message(const absl::Status& status) {
  return std::string(status.message());
}

TEST(CheckOutputs, TakesFilesOfTheirOwn) {
  const data::TemporaryFile input("input.csv", "x");
  const std::string folder =
      std::filesystem::path(input.path()).parent_path().string();

  EXPECT_TRUE(Check({}, {input.path()}).ok());
  EXPECT_TRUE(
      Check({{"--out", "not-there"}, {"--card", "nor-there"}}, {}).ok());
  EXPECT_TRUE(
      Check({{"--out", folder + "/m"}}, {input.path(), "", "a,b"}).ok());
  EXPECT_TRUE(Check({{"--out", "/dev/null"}}, {input.path()}).ok());
  EXPECT_FALSE(std::filesystem::exists("not-there"));
}

TEST(CheckOutputs, SeesTheSameFileThatIsNotThereYet) {
  const absl::Status same =
      Check({{"--out", "not-there"}, {"--card", "./not-there"}}, {});

  EXPECT_EQ(same.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(same),
            "--card: ./not-there is what --out names; give another name");
}

TEST(CheckOutputs, SeesWhatLinksLeadToAndWillLeadTo) {
  const data::TemporaryFile input("input.csv", "x");
  const auto folder = std::filesystem::path(input.path()).parent_path();
  std::filesystem::create_symlink("input.csv", folder / "link");
  std::filesystem::create_symlink("m", folder / "link to nothing");
  const std::string link = folder / "link";
  const std::string dangling = folder / "link to nothing";
  const std::string model = folder / "m";

  EXPECT_THAT(Message(Check({{"--out", link}}, {input.path()})),
              HasSubstr("link is read as well"));
  EXPECT_THAT(Message(Check({{"--out", input.path()}}, {link})),
              HasSubstr("is read as well"));
  EXPECT_THAT(Message(Check({{"--out", model}, {"--card", dangling}}, {})),
              HasSubstr("is what --out names"));
}

TEST(CheckOutputs, SeesFilesThatAreLaidSideBySide) {
  const absl::Status read =
      Check({{"--out", "b.npy"}}, {"run.csv", "a.npy,./b.npy"});

  EXPECT_EQ(Message(read), "--out: b.npy is read as well; give another name");
  // A comma may be part of a name.
  const data::TemporaryFile input("a,b.npy", "x");
  const std::string part = input.path().substr(0, input.path().find(",b.npy"));
  EXPECT_TRUE(Check({{"--out", part}}, {input.path()}).ok());
}

TEST(CheckOutputs, RefusesWhatCannotBeWritten) {
  const data::TemporaryFile input("input.csv", "x");
  const std::string folder =
      std::filesystem::path(input.path()).parent_path().string();

  for (const std::string& path : {folder, folder + "/", folder + "/no/such",
                                  input.path() + "/m", std::string()}) {
    EXPECT_THAT(Message(Check({{"--out", path}}, {})),
                HasSubstr("--out: " + path + " cannot be written"));
  }
}

}  // namespace
}  // namespace telltale::server
