#include "data/output_file.h"

#include <csignal>
#include <filesystem>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/data/temporary_file.h"

namespace telltale::data {
namespace {

using ::testing::HasSubstr;

// How many files stand in the folder of `file`.
int FilesBeside(const TemporaryFile& file) {
  const auto folder = std::filesystem::path(file.path()).parent_path();
  return static_cast<int>(
      std::distance(std::filesystem::directory_iterator(folder), {}));
}

// A disk on which a file may have so many bytes.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(OutputFile, AppearsWholeWhenItIsClosed) {
  const TemporaryFile file("out.csv", "before");
  auto output = OutputFile::Create(file.path());
  ASSERT_TRUE(output.ok()) << output.status();
  output->stream() << "after" << std::flush;
  EXPECT_EQ(file.Content(), "before");

  ASSERT_TRUE(output->Close().ok());

  EXPECT_EQ(file.Content(), "after");
  EXPECT_EQ(FilesBeside(file), 1);
}

TEST(OutputFile, LeavesNothingWhenTheDiskIsFull) {
  const TemporaryFile file("out.csv", "before");
  {
    const SmallDisk disk(1000);
    auto output = OutputFile::Create(file.path());
    ASSERT_TRUE(output.ok()) << output.status();
    for (int i = 0; i < 1000; ++i) output->stream() << "0123456789";

    const absl::Status status = output->Close();

    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr(file.path()));
  }
  EXPECT_EQ(file.Content(), "before");
  EXPECT_EQ(FilesBeside(file), 1);
}

TEST(OutputFile, LeavesNothingWhenItIsNotClosed) {
  const TemporaryFile file("out.csv");
  {
    auto output = OutputFile::Create(file.path());
    ASSERT_TRUE(output.ok()) << output.status();
    const OutputFile moved = *std::move(output);
    EXPECT_EQ(FilesBeside(file), 1);
  }
  EXPECT_EQ(FilesBeside(file), 0);
}

TEST(OutputFile, FollowsLinksAndKeepsPermissions) {
  const TemporaryFile file("out.csv", "before");
  const auto owner =
      std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::filesystem::permissions(file.path(), owner);
  const std::string link = file.path() + ".link";
  std::filesystem::create_symlink(file.path(), link);
  auto output = OutputFile::Create(link);
  ASSERT_TRUE(output.ok()) << output.status();
  output->stream() << "after";

  ASSERT_TRUE(output->Close().ok());

  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(file.Content(), "after");
  EXPECT_EQ(std::filesystem::status(file.path()).permissions(), owner);
}

TEST(OutputFile, WritesDevicesAsTheyAre) {
  auto null = OutputFile::Create("/dev/null");
  ASSERT_TRUE(null.ok()) << null.status();
  null->stream() << "away";
  EXPECT_TRUE(null->Close().ok());
  auto full = OutputFile::Create("/dev/full");
  ASSERT_TRUE(full.ok()) << full.status();
  full->stream() << "away";
  EXPECT_EQ(full->Close().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(OutputFile::Create("/no/such/file").status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace telltale::data
