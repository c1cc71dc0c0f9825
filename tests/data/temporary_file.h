#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace telltale::data {

// A file of this test's own, gone when the test is over. The name is the
// test's, so that tests may run at the same time.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("telltale-") + test->test_suite_name() + "-" +
               test->name() + "-" + name + ".d");
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / name).string();
  }
  TemporaryFile(const std::string& name, std::string_view content)
      : TemporaryFile(name) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::filesystem::remove_all(folder_); }

  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  std::string Content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path folder_;
  std::string path_;
};

}  // namespace telltale::data
