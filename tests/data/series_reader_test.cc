#include "data/series_reader.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/npy_bytes.h"
#include "tests/data/temporary_file.h"

namespace telltale::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(SeriesReader, TellsTheFormatByTheEnding) {
  const TemporaryFile csv("run.csv", "time,a\n1,2\n");
  const TemporaryFile npy(
      "run.npy", NpyBytes(NpyDictionary("<f4", "(1,)"), BytesOf<float>({3})));

  EXPECT_THAT(ReadSeries(csv.path())->samples, ElementsAre(2));
  EXPECT_THAT(ReadSeries(npy.path())->samples, ElementsAre(3));
  EXPECT_THAT(std::string(ReadSeries("run.parquet").status().message()),
              AllOf(HasSubstr("run.parquet"), HasSubstr(".csv or .npy")));
  EXPECT_FALSE(ReadSeries("").ok());
}

TEST(SeriesReader, LaysArraysSideBySide) {
  const TemporaryFile value(
      "P-1.value.npy",
      NpyBytes(NpyDictionary("<f8", "(3,)"), BytesOf<double>({.5, .25, .125})));
  const TemporaryFile command("P-1.cmd.npy",
                              NpyBytes(NpyDictionary("|u1", "(3, 2)"),
                                       BytesOf<uint8_t>({0, 1, 0, 0, 1, 0})));

  const auto series = ReadSeries(value.path() + "," + command.path());

  ASSERT_TRUE(series.ok()) << series.status();
  EXPECT_EQ(series->channels[0].name, "P-1.value");
  EXPECT_EQ(series->channels[2].name, "P-1.cmd.1");
  EXPECT_EQ(series->channels[2].kind, ChannelKind::kCommand);
  EXPECT_EQ(series->length(), 3);
  EXPECT_THAT(series->samples, ElementsAre(.5, 0, 1, .25, 0, 0, .125, 1, 0));
}

TEST(SeriesReader, RefusesPartsThatDoNotFit) {
  const TemporaryFile three("a.npy", NpyBytes(NpyDictionary("<f4", "(3,)"),
                                              BytesOf<float>({1, 2, 3})));
  const TemporaryFile two(
      "b.npy", NpyBytes(NpyDictionary("<f4", "(2,)"), BytesOf<float>({1, 2})));
  const auto refusal = [](const std::string& spec) {
    return std::string(ReadSeries(spec).status().message());
  };

  EXPECT_THAT(refusal(three.path() + "," + two.path()),
              AllOf(HasSubstr("has 3 rows"), HasSubstr("has 2")));
  EXPECT_THAT(refusal(two.path() + "," + two.path()), HasSubstr("twice"));
  EXPECT_THAT(refusal(two.path() + ",run.csv"),
              HasSubstr("\"run.csv\" does not end in .npy"));
  EXPECT_THAT(refusal(two.path() + ","), HasSubstr("\"\" does not end"));
}

TEST(ReadSegments, LaysSegmentsOfSeveralFilesSideBySide) {
  const TemporaryFile value("value.npy",
                            NpyBytes(NpyDictionary("<f4", "(2, 2, 1)"),
                                     BytesOf<float>({1, 2, 3, 4})));
  const TemporaryFile command("command.npy",
                              NpyBytes(NpyDictionary("|u1", "(2, 2, 1)"),
                                       BytesOf<uint8_t>({0, 1, 1, 0})));

  const auto segments = ReadSegments(value.path() + "," + command.path());

  ASSERT_TRUE(segments.ok()) << segments.status();
  ASSERT_EQ(segments->size(), 2U);
  EXPECT_THAT((*segments)[0].samples, ElementsAre(1, 0, 2, 1));
  EXPECT_THAT((*segments)[1].samples, ElementsAre(3, 1, 4, 0));
}

TEST(ReadSegments, TakesOtherFilesForASingleSegment) {
  const TemporaryFile csv("a.csv", "time,x\n0,2\n");

  const auto segments = ReadSegments(csv.path());

  ASSERT_TRUE(segments.ok()) << segments.status();
  ASSERT_EQ(segments->size(), 1U);
  EXPECT_THAT(segments->front().samples, ElementsAre(2));
}

TEST(ReadSegments, RefusesFilesWithOtherSegments) {
  const TemporaryFile two("two.npy", NpyBytes(NpyDictionary("<f4", "(2, 1, 1)"),
                                              BytesOf<float>({1, 2})));
  const TemporaryFile one("one.npy", NpyBytes(NpyDictionary("<f4", "(1, 1, 1)"),
                                              BytesOf<float>({1})));

  EXPECT_THAT(
      std::string(
          ReadSegments(two.path() + "," + one.path()).status().message()),
      HasSubstr("one.npy has 1; files laid side by side need the same number"));
  EXPECT_THAT(
      std::string(ReadSeries(two.path() + "," + two.path()).status().message()),
      HasSubstr("channel name"));
  EXPECT_THAT(std::string(ReadSeries(two.path()).status().message()),
              HasSubstr("expected [steps] or [steps, channels]"));
  EXPECT_TRUE(ReadSeries(one.path()).status().code() ==
              absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace telltale::data
