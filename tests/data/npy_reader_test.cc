#include "data/npy_reader.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/npy_bytes.h"

namespace telltale::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;

absl::StatusOr<Series> Read(const std::string& bytes) {
  std::istringstream input(bytes);
  return ReadNpy(input, "folder/P-1.cmd.npy");
}

std::string Refusal(const std::string& bytes) {
  const auto series = Read(bytes);
  if (series.ok()) return "";
  EXPECT_EQ(series.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(series.status().message());
}

std::string Floats(std::string_view shape, int count) {
  return NpyBytes(NpyDictionary("<f4", shape),
                  BytesOf(std::vector<float>(count)));
}

TEST(NpyReader, ReadsOneAxisAsOneChannelNamedByTheStem) {
  const auto series = Read(NpyBytes(NpyDictionary("<f8", "(3,)"),
                                    BytesOf<double>({0.5, std::nan(""), -2})));

  ASSERT_TRUE(series.ok()) << series.status();
  EXPECT_EQ(series->channels.size(), 1);
  EXPECT_EQ(series->channels[0].name, "P-1.cmd");
  EXPECT_EQ(series->channels[0].unit, "");
  EXPECT_EQ(series->channels[0].kind, ChannelKind::kContinuous);
  EXPECT_THAT(series->samples, ElementsAre(0.5F, IsNan(), -2.0F));
  EXPECT_THAT(series->time_ns, ElementsAre(0, 1'000'000'000, 2'000'000'000));
  EXPECT_EQ(series->time_form, TimeForm::kSeconds);
}

TEST(NpyReader, NamesTheColumnsOfTwoAxes) {
  const auto series = Read(NpyBytes(NpyDictionary("<f4", "(2, 3)"),
                                    BytesOf<float>({1, 2, 3, 4, 5, 6})));

  ASSERT_TRUE(series.ok()) << series.status();
  EXPECT_EQ(series->channels[0].name, "P-1.cmd.0");
  EXPECT_EQ(series->channels[2].name, "P-1.cmd.2");
  EXPECT_THAT(series->Instant(1), ElementsAre(4, 5, 6));
}

template <typename Number>
void ExpectReads(std::string_view descr, const std::vector<Number>& numbers) {
  const auto series =
      Read(NpyBytes(NpyDictionary(descr, "(2,)"), BytesOf(numbers)));
  ASSERT_TRUE(series.ok()) << descr << series.status();
  EXPECT_THAT(series->samples, ElementsAre(static_cast<float>(numbers[0]),
                                           static_cast<float>(numbers[1])))
      << descr;
}

TEST(NpyReader, ReadsEveryType) {
  ExpectReads<float>("<f4", {1.5F, -2});
  ExpectReads<double>("<f8", {1.5, -2});
  ExpectReads<int8_t>("|i1", {-128, 7});
  ExpectReads<uint8_t>("|u1", {255, 7});
  ExpectReads<uint8_t>("|b1", {1, 0});
  ExpectReads<int16_t>("<i2", {-32768, 7});
  ExpectReads<uint16_t>("<u2", {65535, 7});
  ExpectReads<int32_t>("<i4", {-2147483647, 7});
  ExpectReads<uint32_t>("<u4", {4294967295U, 7});
  ExpectReads<int64_t>("<i8", {std::numeric_limits<int64_t>::min(), 7});
  ExpectReads<uint64_t>("<u8", {std::numeric_limits<uint64_t>::max(), 7});
}

TEST(NpyReader, TakesWholeNumbersThatAreAllZeroOrOneForCommands) {
  const auto bytes = Read(NpyBytes(NpyDictionary("|u1", "(2, 3)"),
                                   BytesOf<uint8_t>({0, 1, 0, 1, 2, 0})));
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(bytes->channels[0].kind, ChannelKind::kCommand);
  EXPECT_EQ(bytes->channels[1].kind, ChannelKind::kContinuous);
  EXPECT_EQ(bytes->channels[2].kind, ChannelKind::kCommand);

  const auto floats =
      Read(NpyBytes(NpyDictionary("<f4", "(2,)"), BytesOf<float>({0, 1})));
  ASSERT_TRUE(floats.ok());
  EXPECT_EQ(floats->channels[0].kind, ChannelKind::kContinuous);
}

TEST(NpyReader, TakesFloatsThatAreZeroAndOneBesideOthersForCommands) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const auto kinds = [](const std::vector<float>& rows) {
    const auto series =
        Read(NpyBytes(NpyDictionary("<f4", "(2, 3)"), BytesOf(rows)));
    EXPECT_TRUE(series.ok()) << series.status();
    std::vector<ChannelKind> found;
    for (const Channel& channel : series->channels.channels()) {
      found.push_back(channel.kind);
    }
    return found;
  };
  const ChannelKind c = ChannelKind::kContinuous;
  EXPECT_THAT(kinds({0.5F, 0, 1, 2, 1, 0}),
              ElementsAre(c, ChannelKind::kCommand, ChannelKind::kCommand));
  // A constant is no command, and nothing is one where all is.
  EXPECT_THAT(kinds({0.5F, 0, 1, 2, 0, 1}), ElementsAre(c, c, c));
  EXPECT_THAT(kinds({0, 0, 1, 1, 1, 0}), ElementsAre(c, c, c));
  EXPECT_THAT(kinds({0.5F, kNan, 1, 2, 1, 0}),
              ElementsAre(c, c, ChannelKind::kCommand));
}

TEST(NpyReader, ReadsSegmentsOfThreeAxes) {
  std::istringstream input(
      NpyBytes(NpyDictionary("<f4", "(2, 3, 2)"),
               BytesOf<float>({1, 0, 2, 0, 3, 0, 4, 0, 5, 1, 6, 0})));
  const auto segments = ReadNpySegments(input, "folder/x.npy");

  ASSERT_TRUE(segments.ok()) << segments.status();
  ASSERT_EQ(segments->size(), 2U);
  EXPECT_THAT((*segments)[0].samples, ElementsAre(1, 0, 2, 0, 3, 0));
  EXPECT_THAT((*segments)[1].samples, ElementsAre(4, 0, 5, 1, 6, 0));
  for (const Series& segment : *segments) {
    EXPECT_THAT(segment.time_ns, ElementsAre(0, 1'000'000'000, 2'000'000'000));
    EXPECT_EQ(segment.channels[0].name, "x.0");
    // Of its numbers in all segments.
    EXPECT_EQ(segment.channels[1].kind, ChannelKind::kCommand);
  }
}

TEST(NpyReader, TakesFewerAxesForASingleSegment) {
  std::istringstream input(
      NpyBytes(NpyDictionary("<f4", "(3,)"), BytesOf<float>({1, 2, 3})));
  const auto segments = ReadNpySegments(input, "x.npy");

  ASSERT_TRUE(segments.ok()) << segments.status();
  ASSERT_EQ(segments->size(), 1U);
  EXPECT_THAT(segments->front().samples, ElementsAre(1, 2, 3));
}

TEST(NpyReader, RefusesSegmentsThatTheFileDoesNotHold) {
  const auto refusal = [](const std::string& bytes) {
    std::istringstream input(bytes);
    return std::string(ReadNpySegments(input, "x.npy").status().message());
  };
  EXPECT_THAT(refusal(Floats("(2, 3, 2)", 11)), HasSubstr("44 bytes of data"));
  EXPECT_THAT(refusal(Floats("(0, 3, 2)", 0)), HasSubstr("shape [0, 3, 2]"));
  EXPECT_THAT(refusal(Floats("(1048577, 1, 1)", 1)),
              HasSubstr("at most 1048576"));
  EXPECT_THAT(refusal(Floats("(1048576, 2147483647, 4096)", 1)),
              HasSubstr("4 bytes of data"));
  EXPECT_THAT(refusal(Floats("(1, 1, 1, 1)", 1)),
              HasSubstr("or [segments, steps, channels]"));
  EXPECT_THAT(refusal(NpyBytes(NpyDictionary("<f4", "(2, 1, 1)"),
                               BytesOf<float>({0, 1e31F}))),
              HasSubstr("segment 1 of x.npy: the sample at row 0"));
  // Where one series is wanted.
  EXPECT_THAT(Refusal(Floats("(2, 3, 2)", 12)),
              HasSubstr("expected [steps] or [steps, channels]"));
}

TEST(NpyReader, ReadsAllVersionsAndLayoutsOfTheHeader) {
  const std::string data = BytesOf<float>({1, 2});
  for (const int major : {1, 2, 3}) {
    const auto series =
        Read(NpyBytes(NpyDictionary("<f4", "(2,)"), data, major));
    ASSERT_TRUE(series.ok()) << series.status();
    EXPECT_THAT(series->samples, ElementsAre(1, 2));
  }
  for (const char* dictionary :
       {"{\"shape\":(2,),\"descr\":\"<f4\",\"fortran_order\":False}",
        "{ 'fortran_order' : True , 'shape' : ( 2 , 1 ) , 'descr' : '<f4' }",
        "{'descr':'<f4','fortran_order':False,'shape':(2)}"}) {
    const auto series = Read(NpyBytes(dictionary, data));
    EXPECT_TRUE(series.ok()) << dictionary << series.status();
  }
}

TEST(NpyReader, RefusesWhatItCannotReadAndSaysHowToMendIt) {
  const std::string data(16, '\0');
  EXPECT_THAT(Refusal(NpyBytes(NpyDictionary(">f4", "(4,)"), data)),
              AllOf(HasSubstr("\">f4\""), HasSubstr("astype('<f4')")));
  EXPECT_THAT(Refusal(NpyBytes(NpyDictionary("<c8", "(2,)"), data)),
              HasSubstr("\"<c8\""));
  EXPECT_THAT(Refusal(NpyBytes(NpyDictionary("|O", "(2,)"), data)),
              HasSubstr("\"|O\""));
  EXPECT_THAT(Refusal(NpyBytes(
                  "{'descr':'<f4','fortran_order':True,'shape':(2,2)}", data)),
              HasSubstr("ascontiguousarray"));
  EXPECT_THAT(Refusal(NpyBytes("{'descr':[('a','<f4')],'fortran_order':False,"
                               "'shape':(4,)}",
                               data)),
              HasSubstr("the type of a plain array"));
  EXPECT_THAT(Refusal(Floats("(2, 2, 1)", 4)),
              AllOf(HasSubstr("shape [2, 2, 1]"),
                    HasSubstr("expected [steps] or [steps, channels]")));
  EXPECT_THAT(Refusal(Floats("()", 1)), HasSubstr("shape []"));
}

TEST(NpyReader, RefusesShapesThatDoNotFillTheFile) {
  EXPECT_THAT(
      Refusal(Floats("(3,)", 4)),
      HasSubstr("has 16 bytes of data; shape [3] of type <f4 needs 12"));
  EXPECT_THAT(Refusal(Floats("(5,)", 4)), HasSubstr("needs 20"));
  EXPECT_THAT(Refusal(Floats("(0,)", 0)), HasSubstr("shape [0]"));
  EXPECT_THAT(Refusal(Floats("(4, 0)", 0)), HasSubstr("shape [4, 0]"));
  EXPECT_THAT(Refusal(Floats("(1, 4097)", 4097)), HasSubstr("4096 channels"));
}

TEST(NpyReader, RefusesHugeClaimsBeforeItAllocates) {
  EXPECT_THAT(Refusal(Floats("(2147483647, 4096)", 1)), HasSubstr("needs"));
  EXPECT_THAT(Refusal(Floats("(9223372036854775807,)", 1)),
              HasSubstr("expected 1 to 2147483647 steps"));
  EXPECT_THAT(Refusal(Floats("(99999999999999999999,)", 1)),
              HasSubstr("the size of an axis"));
  EXPECT_THAT(Refusal(Floats("(4294967296, 4294967296)", 1)),
              HasSubstr("steps"));
  std::string long_header("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
  EXPECT_THAT(Refusal(long_header),
              HasSubstr("claims a header of 4294967295 bytes"));
  EXPECT_THAT(
      Refusal(NpyBytes(NpyDictionary("<f4", "(2,)") + std::string(10'000, ' '),
                       BytesOf<float>({1, 2}))),
      HasSubstr("at most 10000"));
}

TEST(NpyReader, RefusesHeadersThatMakeNoSense) {
  const std::string data(8, '\0');
  for (const char* dictionary :
       {"", "{", "{}", "{'descr'", "{'descr':", "{'descr':'<f4'}",
        "{'descr':'<f4','fortran_order':False}",
        "{'descr':'<f4','fortran_order':False,'shape':(2,)",
        "{'descr':'<f4','fortran_order':False,'shape':(2,",
        "{'descr':'<f4','fortran_order':False,'shape':(-2,)}",
        "{'descr':'<f4','fortran_order':False,'shape':(2,)} x",
        "{'descr':'<f4','descr':'<f4','fortran_order':False,'shape':(2,)}",
        "{'descr':'<f4','fortran_order':0,'shape':(2,)}",
        "{'descr':'<f4' 'fortran_order':False,'shape':(2,)}",
        "{'descr':'<f4','fortran_order':False,'shape':(2,),'more':'x'}"}) {
    EXPECT_THAT(Refusal(NpyBytes(dictionary, data)), HasSubstr("the header"))
        << dictionary;
  }
}

TEST(NpyReader, RefusesTruncationAtEveryByte) {
  const std::string whole = Floats("(2, 2)", 4);
  ASSERT_EQ(Refusal(whole), "");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(Refusal(whole.substr(0, size)), "") << size;
  }
  EXPECT_NE(Refusal(whole + "x"), "");
}

TEST(NpyReader, RefusesOtherFilesAndVersions) {
  EXPECT_THAT(Refusal("time,a\n0,1\n"), HasSubstr("is no .npy file"));
  EXPECT_THAT(Refusal(std::string("\x93NUMPY\x04\x00\x00\x00", 10)),
              HasSubstr("version 4"));
  EXPECT_EQ(ReadNpy("/no/such.npy").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(NpyReader, RefusesInfinitiesAndSaysWhere) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(Refusal(NpyBytes(NpyDictionary("<f8", "(2, 2)"),
                               BytesOf<double>({0, 0, 0, -infinity}))),
              HasSubstr("row 1, column 1 is -inf"));
  EXPECT_THAT(
      Refusal(NpyBytes(NpyDictionary("<f8", "(1,)"), BytesOf<double>({1e300}))),
      HasSubstr("1e+300"));
}

}  // namespace
}  // namespace telltale::data
