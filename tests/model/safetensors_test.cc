#include "model/checkpoint/safetensors.h"

#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <sys/stat.h>

#include "model/checkpoint/file_io.h"

namespace telltale::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A folder of this test's own, removed at its end.
class SafetensorsTest : public ::testing::Test {
 public:
  SafetensorsTest() {
    std::string name =
        (std::filesystem::temp_directory_path() / "safetensors_test.XXXXXX")
            .string();
    folder_ = ::mkdtemp(name.data());
  }
  ~SafetensorsTest() override { std::filesystem::remove_all(folder_); }

 protected:
  std::filesystem::path folder_;
};

TensorFile SmallFile() {
  TensorFile file;
  file.metadata["cadence"] = "1 s";
  file.tensors["bias"] = StoredTensor::Of({2}, std::vector<float>{-1, 0.5F});
  file.tensors["weight"] =
      StoredTensor::Of({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  file.tensors["flags"] = {.type = TensorType::kU8,
                           .shape = {3},
                           .values = {},
                           .bytes = std::string("\1\0\1", 3)};
  return file;
}

// The bytes of a file with this header and this many bytes of data.
std::string FileOf(std::string_view header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  bytes += header;
  bytes.append(data_bytes, '\0');
  return bytes;
}

absl::Status StatusOf(std::string_view header, size_t data_bytes) {
  const absl::StatusOr<TensorFile> file =
      TensorFile::Parse(FileOf(header, data_bytes));
  return file.status();
}

TEST_F(SafetensorsTest, ReadsBackWhatItWrote) {
  const TensorFile file = SmallFile();

  ASSERT_TRUE(file.Write(folder_ / "model.safetensors").ok());
  const auto read = TensorFile::Read(folder_ / "model.safetensors");

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, file);
}

TEST(Safetensors, WritesTheFormatByteForByte) {
  TensorFile file;
  file.metadata["a"] = "b";
  file.tensors["x"] = StoredTensor::Of({1}, std::vector<float>{1.0F});

  const auto bytes = file.Serialize();

  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const std::string header =
      R"({"__metadata__":{"a":"b"},)"
      R"("x":{"data_offsets":[0,4],"dtype":"F32","shape":[1]}})";
  const std::string padding(80 - header.size(), ' ');
  EXPECT_EQ(*bytes, std::string("\x50\0\0\0\0\0\0\0", 8) + header + padding +
                        std::string("\0\0\x80\x3f", 4));
}

TEST(Safetensors, ReadsTensorsInAnyOrderOfTheHeader) {
  std::string bytes =
      FileOf(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[4,8]},)"
             R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}} )",
             0);
  bytes += std::string("\1\2\3\4\0\0\x80\x3f", 8);

  const auto file = TensorFile::Parse(bytes);

  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->tensors.at("a").values, ElementsAre(1.0F));
  EXPECT_TRUE(file->tensors.at("a").shape.empty());
  EXPECT_EQ(file->tensors.at("b").bytes, "\1\2\3\4");
}

TEST(Safetensors, RefusesTruncationAtEveryByte) {
  const std::string bytes = SmallFile().Serialize().value();

  for (size_t length = 0; length < bytes.size(); ++length) {
    const auto file = TensorFile::Parse(bytes.substr(0, length));
    EXPECT_TRUE(absl::IsDataLoss(file.status())) << length;
  }
  EXPECT_TRUE(TensorFile::Parse(bytes).ok());
}

TEST(Safetensors, RefusesBytesTooMany) {
  const std::string bytes = SmallFile().Serialize().value();

  EXPECT_TRUE(absl::IsDataLoss(TensorFile::Parse(bytes + "x").status()));
}

TEST(Safetensors, SurvivesEveryBitFlip) {
  const std::string bytes = SmallFile().Serialize().value();
  int refused = 0;

  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto file = TensorFile::Parse(damaged);
    if (file.ok()) {
      // What still parses must be consistent enough to be written again.
      EXPECT_TRUE(file->Serialize().ok()) << bit;
    } else {
      EXPECT_TRUE(absl::IsDataLoss(file.status())) << bit;
      ++refused;
    }
  }
  // Flips in the data and in names pass; those in the grammar cannot.
  EXPECT_GT(refused, 500);
}

TEST(Safetensors, SurvivesRandomDamage) {
  const std::string bytes = SmallFile().Serialize().value();
  std::mt19937 random(20240601);

  for (int round = 0; round < 20000; ++round) {
    std::string damaged = bytes;
    for (int edit = 0; edit < 3; ++edit) {
      const size_t at = random() % damaged.size();
      const char byte = "{}[]\",:0123456789 \xff"[random() % 20];
      switch (random() % 3) {
        case 0:
          damaged[at] = byte;
          break;
        case 1:
          damaged.insert(at, 1, byte);
          break;
        default:
          damaged.erase(at, 1 + random() % 8);
      }
    }
    const auto file = TensorFile::Parse(damaged);
    EXPECT_TRUE(file.ok() || absl::IsDataLoss(file.status()));
  }
}

TEST(Safetensors, RefusesAHeaderLengthBeyondTheFileOrTheLimit) {
  std::string bytes = FileOf("{}", 0);
  std::memset(bytes.data(), 0xff, 8);
  EXPECT_THAT(TensorFile::Parse(bytes).status().message(),
              HasSubstr("header should have 18446744073709551615 bytes"));

  const std::string padded =
      "{}" + std::string(TensorFile::kMaxHeaderBytes - 2, ' ');
  EXPECT_TRUE(StatusOf(padded, 0).ok());
  EXPECT_TRUE(absl::IsDataLoss(StatusOf(padded + " ", 0)));
}

TEST(Safetensors, RefusesAShapeWhoseProductWrapsAround) {
  // 4194305 x 4194305 x 211106198978564 is 4 modulo 2^64.
  const absl::Status status = StatusOf(
      R"({"x":{"dtype":"U8","shape":[4194305,4194305,211106198978564],)"
      R"("data_offsets":[0,4]}})",
      4);

  EXPECT_TRUE(absl::IsDataLoss(status)) << status;

  const absl::Status smaller =
      StatusOf(R"({"x":{"dtype":"F32","shape":[65536,65536,65536,65536],)"
               R"("data_offsets":[0,0]}})",
               0);
  EXPECT_TRUE(absl::IsDataLoss(smaller)) << smaller;
}

TEST(Safetensors, RefusesOffsetsThatDoNotTileTheData) {
  const auto with_offsets = [](std::string_view a, std::string_view b) {
    return StatusOf(
        absl::StrFormat(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":%s},)"
                        R"("b":{"dtype":"F32","shape":[1],"data_offsets":%s}})",
                        a, b),
        8);
  };

  EXPECT_TRUE(with_offsets("[0,4]", "[4,8]").ok());
  for (const char* second :
       {"[0,4]", "[3,7]", "[5,9]", "[4,7]", "[4,9]", "[8,4]", "[4,4]", "[-4,8]",
        "[4.0,8]", "[4]", "[4,8,8]", "4", "null", "[4,1e30]"}) {
    EXPECT_TRUE(absl::IsDataLoss(with_offsets("[0,4]", second))) << second;
  }
  EXPECT_TRUE(absl::IsDataLoss(with_offsets("[4,0]", "[4,8]")));
}

TEST(Safetensors, RefusesHeadersOutsideTheGrammar) {
  for (
      const char* header :
      {"",
       " ",
       "[]",
       "1",
       "null",
       "{",
       "{}x",
       "{\"x\":1}",
       "{\"x\":{}}",
       R"({"x":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})",
       R"({"x":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})",
       R"({"x":{"dtype":5,"shape":[1],"data_offsets":[0,4]}})",
       R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})",
       R"({"x":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})",
       R"({"x":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})",
       R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"y":0}})",
       R"({"":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"__metadata__":1})",
       R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"__metadata__":{"a":1}})",
       R"({"x":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})",
       "{\"\xff\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"}) {
    EXPECT_TRUE(absl::IsDataLoss(StatusOf(header, 4))) << header;
  }
}

TEST(Safetensors, RefusesAKeyGivenTwice) {
  const absl::Status status =
      StatusOf(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
               R"("x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
               4);

  EXPECT_THAT(status.message(), HasSubstr("key \"x\" twice"));
}

TEST(Safetensors, RefusesDeepNestingWithoutFollowingIt) {
  const auto nested = [](int levels) {
    return "{\"x\":" + std::string(levels - 1, '[') +
           std::string(levels - 1, ']') + "}";
  };

  EXPECT_THAT(StatusOf(nested(8), 0).message(), HasSubstr("dtype"));
  EXPECT_THAT(StatusOf(nested(9), 0).message(), HasSubstr("nests deeper"));
  EXPECT_THAT(StatusOf(nested(500000), 0).message(), HasSubstr("deeper"));
}

TEST(Safetensors, LimitsNamesAndTheirNumber) {
  const auto with_tensors = [](int count, size_t name_bytes) {
    TensorFile file;
    for (int i = 0; i < count; ++i) {
      const std::string name =
          absl::StrFormat("%0*d", static_cast<int>(name_bytes), i);
      file.tensors[name] = {
          .type = TensorType::kU8, .shape = {1}, .values = {}, .bytes = "x"};
    }
    return file;
  };

  EXPECT_TRUE(with_tensors(1, 256).Serialize().ok());
  EXPECT_FALSE(with_tensors(1, 257).Serialize().ok());
  EXPECT_TRUE(TensorFile::Parse(*with_tensors(4096, 4).Serialize()).ok());
  EXPECT_FALSE(with_tensors(4097, 4).Serialize().ok());

  std::string header = "{";
  for (int i = 0; i < 4097; ++i) {
    header += absl::StrFormat(
        R"(%s"%d":{"dtype":"U8","shape":[1],"data_offsets":[%d,%d]})",
        i == 0 ? "" : ",", i, i, i + 1);
  }
  EXPECT_THAT(StatusOf(header + "}", 4097).message(),
              HasSubstr("more than 4096 tensors"));
  EXPECT_THAT(StatusOf("{\"" + std::string(257, 'n') + "\":{}}", 0).message(),
              HasSubstr("name has 257 bytes"));
}

TEST(Safetensors, ShowsHostileNamesOnOneLine) {
  const absl::Status status = StatusOf("{\"a\\nb\\u001b[31m\":1}", 0);

  EXPECT_THAT(status.message(), HasSubstr("\"a\\nb\\x1b[31m\""));
}

TEST(Safetensors, RefusesToWriteWhatItCouldNotRead) {
  TensorFile unfilled;
  unfilled.tensors["x"] = StoredTensor::Of({3}, std::vector<float>{1, 2});
  EXPECT_TRUE(absl::IsInvalidArgument(unfilled.Serialize().status()));

  TensorFile empty;
  empty.tensors["x"] = StoredTensor::Of({0}, std::vector<float>{});
  EXPECT_TRUE(absl::IsInvalidArgument(empty.Serialize().status()));

  TensorFile reserved;
  reserved.tensors["__metadata__"] = StoredTensor::Of({1}, std::vector{1.0F});
  EXPECT_TRUE(absl::IsInvalidArgument(reserved.Serialize().status()));

  TensorFile not_text;
  not_text.metadata["key"] = "\xff\xfe";
  EXPECT_TRUE(absl::IsInvalidArgument(not_text.Serialize().status()));
}

TEST_F(SafetensorsTest, NamesThePathOfADamagedFile) {
  std::ofstream(folder_ / "broken.safetensors") << "short";

  const auto file = TensorFile::Read(folder_ / "broken.safetensors");

  EXPECT_TRUE(absl::IsDataLoss(file.status()));
  EXPECT_THAT(file.status().message(), HasSubstr("broken.safetensors is not"));
}

TEST_F(SafetensorsTest, ReadsRegularFilesOnly) {
  EXPECT_TRUE(absl::IsNotFound(TensorFile::Read(folder_ / "absent").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(TensorFile::Read(folder_).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(TensorFile::Read("/dev/zero").status()));

  const std::filesystem::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(TensorFile::Read(pipe).status()));
}

TEST_F(SafetensorsTest, WritesIntoAPipeAndLeavesIt) {
  const std::filesystem::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  // Open for both, so that nobody waits for the other end.
  const int end = ::open(pipe.c_str(), O_RDWR | O_NONBLOCK);
  ASSERT_GE(end, 0);

  EXPECT_TRUE(ReplaceFile(pipe, "bytes").ok());

  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  char read[8] = {};
  EXPECT_EQ(::read(end, read, sizeof read), 5);
  EXPECT_STREQ(read, "bytes");
  ::close(end);
}

TEST_F(SafetensorsTest, ReadsNoMoreThanTheLimit) {
  std::ofstream(folder_ / "file") << "0123456789";

  EXPECT_EQ(ReadFile(folder_ / "file", 10).value(), "0123456789");
  EXPECT_TRUE(absl::IsInvalidArgument(ReadFile(folder_ / "file", 9).status()));
}

TEST_F(SafetensorsTest, AFailedWriteLeavesTheOldFileAndNothingBesideIt) {
  const std::filesystem::path path = folder_ / "model.safetensors";
  ASSERT_TRUE(SmallFile().Write(path).ok());
  TensorFile bad = SmallFile();
  bad.tensors["bias"].shape = {3};

  EXPECT_FALSE(bad.Write(path).ok());
  // A folder cannot be replaced by a file.
  std::filesystem::create_directory(folder_ / "folder");
  EXPECT_FALSE(SmallFile().Write(folder_ / "folder").ok());

  EXPECT_EQ(TensorFile::Read(path).value(), SmallFile());
  const auto entries = std::filesystem::directory_iterator(folder_);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 2);
}

}  // namespace
}  // namespace telltale::model
