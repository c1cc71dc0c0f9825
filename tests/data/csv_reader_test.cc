#include "data/csv_reader.h"

#include <clocale>
#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/temporary_file.h"

namespace telltale::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;

absl::StatusOr<Series> Read(const std::string& text) {
  const TemporaryFile file("run.csv", text);
  return ReadCsv(file.path());
}

// The message of the refusal; empty if there was none.
std::string Refusal(const std::string& text) {
  const auto series = Read(text);
  if (series.ok()) return "";
  EXPECT_EQ(series.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(series.status().message());
}

TEST(CsvReader, ReadsNamesUnitsTimesAndSamples) {
  const auto series = Read(
      "time,speed[rpm],ratio\n"
      "0,100.5,-1e-3\n"
      "1.5,+7,\n");

  ASSERT_TRUE(series.ok()) << series.status();
  EXPECT_EQ(series->channels[0].name, "speed");
  EXPECT_EQ(series->channels[0].unit, "rpm");
  EXPECT_EQ(series->channels[1].name, "ratio");
  EXPECT_EQ(series->channels[1].unit, "");
  EXPECT_EQ(series->time_form, TimeForm::kSeconds);
  EXPECT_THAT(series->time_ns, ElementsAre(0, 1'500'000'000));
  EXPECT_THAT(series->samples, ElementsAre(100.5F, -1e-3F, 7.0F, IsNan()));
}

TEST(CsvReader, TakesEmptyCellsAndNanForMissing) {
  const auto series = Read("time,a,b,c,d\n1,,nan,NaN, NAN \n");

  ASSERT_TRUE(series.ok()) << series.status();
  EXPECT_THAT(series->samples, ElementsAre(IsNan(), IsNan(), IsNan(), IsNan()));
}

TEST(CsvReader, ToleratesTheFilesPeopleHave) {
  const std::string mark = "\xef\xbb\xbf";
  for (const std::string& text : {
           std::string("time,a[V],b\n2026-01-31T00:00:00Z,1,2\n"),
           mark + "time,a[V],b\r\n2026-01-31T00:00:00Z,1,2\r\n",
           std::string("time;a[V];b\n2026-01-31T00:00:00Z;1;2"),
           std::string("time\ta[V]\tb\n2026-01-31T00:00:00Z\t1\t2\n"),
           std::string(
               "\"time\",\"a[V]\",b\n\"2026-01-31T00:00:00Z\",\"1\",2\n"),
           std::string(
               " time , a [V] ,b\n 2026-01-31 01:00:00+01:00 , 1, 2 \n"),
           std::string("# made by hand\n\ntime,a[V],b\n#\n2026-01-31T00:00:00,"
                       "1,2\n\n  \n"),
       }) {
    const auto series = Read(text);
    ASSERT_TRUE(series.ok()) << text << series.status();
    EXPECT_EQ(series->channels[0].name, "a") << text;
    EXPECT_EQ(series->channels[0].unit, "V") << text;
    EXPECT_EQ(series->time_form, TimeForm::kRfc3339);
    EXPECT_THAT(series->time_ns, ElementsAre(1'769'817'600'000'000'000));
    EXPECT_THAT(series->samples, ElementsAre(1, 2)) << text;
  }
}

TEST(CsvReader, ResolvesQuotes) {
  const auto series = Read("time,\"a,\"\"b\"\"[m/s]\" ,c\n1,\"2\" ,3\n");

  ASSERT_TRUE(series.ok()) << series.status();
  EXPECT_EQ(series->channels[0].name, "a,\"b\"");
  EXPECT_EQ(series->channels[0].unit, "m/s");
  EXPECT_THAT(series->samples, ElementsAre(2, 3));
}

TEST(CsvReader, SaysWhereACellIsWrongAndWhatWasExpected) {
  EXPECT_THAT(Refusal("time,a,b[V]\n0,1,2\n1,2,abc\n"),
              AllOf(HasSubstr("run.csv, line 3: column 3 (b[V]): \"abc\" is no "
                              "number"),
                    HasSubstr("expected a decimal number")));
  EXPECT_THAT(Refusal("time;a\n0;1,5\n"), HasSubstr("\"1,5\" is no number"));
  EXPECT_THAT(Refusal("time,a\n0,1x\n"), HasSubstr("\"1x\""));
  EXPECT_THAT(Refusal("time,a\n0,0x1p3\n"), HasSubstr("\"0x1p3\""));
  EXPECT_THAT(Refusal("time,a\n0,+-1\n"), HasSubstr("\"+-1\""));
}

TEST(CsvReader, EscapesAndCutsWhatItQuotes) {
  EXPECT_THAT(Refusal("time,a\n0,\x1b[2J\n"), HasSubstr("\"\\x1b[2J\""));
  EXPECT_THAT(Refusal("time,a\n0," + std::string(500, 'z') + "\n"),
              AllOf(HasSubstr(std::string(40, 'z') + "...\""),
                    testing::Not(HasSubstr(std::string(41, 'z')))));
}

TEST(CsvReader, RefusesInfinitiesAndDamage) {
  for (const char* cell :
       {"inf", "-inf", "Infinity", "1.01e30", "-1e38", "1e400"}) {
    EXPECT_THAT(Refusal(std::string("time,a\n0,") + cell + "\n"),
                HasSubstr("is out of range"))
        << cell;
  }
  EXPECT_EQ(Refusal("time,a\n0,-1e30\n"), "");
  EXPECT_EQ(Refusal("time,a\n0,1e-42\n"), "");
}

TEST(CsvReader, RefusesTimeThatDoesNotIncreaseOrChangesItsForm) {
  EXPECT_THAT(Refusal("time,a\n5,1\n5,1\n"),
              HasSubstr("line 3: column 1 (time): \"5\" does not increase; the "
                        "row before is at 5"));
  EXPECT_THAT(Refusal("time,a\n5,1\n4.9,1\n"), HasSubstr("does not increase"));
  EXPECT_THAT(Refusal("time,a\n5,1\n2026-01-31T00:00:00Z,1\n"),
              HasSubstr("is in RFC 3339; the rows before are in seconds"));
  EXPECT_THAT(Refusal("time,a\n5,1\nnoon,1\n"),
              HasSubstr("line 3: column 1 (time): \"noon\" is no time stamp"));
  EXPECT_THAT(Refusal("time,a\n,1\n"), HasSubstr("\"\" is no time stamp"));
}

TEST(CsvReader, RefusesRowsThatDoNotFitTheHeader) {
  EXPECT_THAT(Refusal("time,a,b\n0,1\n"),
              HasSubstr("line 2: 2 cells; the header has 3 columns"));
  EXPECT_THAT(Refusal("time,a\n0,1,2\n"), HasSubstr("3 cells"));
}

TEST(CsvReader, RefusesHeadersThatAreNone) {
  EXPECT_THAT(Refusal(""), HasSubstr("is empty; expected a header"));
  EXPECT_THAT(Refusal("timestamp,a\n0,1\n"),
              HasSubstr("\"timestamp\" found; the header's first column must "
                        "be time"));
  EXPECT_THAT(Refusal("time\n0\n"), HasSubstr("at least 1 channel"));
  EXPECT_THAT(Refusal("time,a,a\n0,1,1\n"), HasSubstr("\"a\" stands twice"));
  EXPECT_THAT(Refusal("time,a,\n0,1,1\n"), HasSubstr("empty name"));
  EXPECT_THAT(Refusal("time,a\n"), HasSubstr("a header but no instant"));
}

TEST(CsvReader, RefusesQuotesThatGoWrong) {
  EXPECT_THAT(Refusal("time,\"a\n0,1\n"), HasSubstr("a quote is not closed"));
  EXPECT_THAT(Refusal("time,a\n0,\"1\"2\n"),
              HasSubstr("text follows the quoted cell \"1\""));
}

TEST(CsvReader, CapsLinesAndColumns) {
  EXPECT_THAT(Refusal("time,a\n0," + std::string(CsvRows::kMaxLineBytes, '1')),
              HasSubstr("line 2: the line is longer than"));
  EXPECT_THAT(Refusal("time" + std::string(CsvRows::kMaxColumns, ',') + "\n"),
              HasSubstr("more than 8192 columns"));
}

TEST(CsvReader, SurvivesBinaryFiles) {
  EXPECT_THAT(Refusal(std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16)),
              HasSubstr("line 1: column 1"));
  EXPECT_NE(Refusal(std::string(1000, '\0')), "");
}

TEST(CsvReader, SaysWhichFileCannotBeOpened) {
  const auto missing = ReadCsv("/no/such/run.csv");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()),
              HasSubstr("/no/such/run.csv"));
  EXPECT_EQ(ReadCsv("/tmp").status().code(), absl::StatusCode::kDataLoss);
}

TEST(CsvReader, GivesOneInstantAtATime) {
  auto reader = CsvReader::Create(
      std::make_unique<std::istringstream>("time,a\n1,10\n2,20\nx,30\n"),
      "standard input");
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<float> instant(1);
  int64_t time_ns = 0;

  EXPECT_TRUE(*reader->Next(time_ns, instant));
  EXPECT_TRUE(*reader->Next(time_ns, instant));
  EXPECT_EQ(time_ns, 2'000'000'000);
  EXPECT_EQ(instant[0], 20);
  EXPECT_EQ(reader->line(), 3);

  const auto bad = reader->Next(time_ns, instant);
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(std::string(bad.status().message()),
              HasSubstr("standard input, line 4"));
}

TEST(CsvReader, ReadsTheSameWhereverTheBufferEnds) {
  // Longer than the read-ahead, with lines of many lengths.
  std::string text = "time,a\n";
  for (int i = 0; i < 30'000; ++i) {
    text += std::to_string(i) + "," + std::string(i % 7, ' ') +
            std::to_string(i * 0.5) + "\n";
  }

  const auto series = Read(text);

  ASSERT_TRUE(series.ok()) << series.status();
  ASSERT_EQ(series->length(), 30'000);
  for (int i = 0; i < series->length(); ++i) {
    ASSERT_EQ(series->samples[i], static_cast<float>(i * 0.5));
  }
}

TEST(Heading, HoldsTheUnitInItsLastBrackets) {
  EXPECT_EQ(ChannelOfHeading("a[kg/s]").unit, "kg/s");
  EXPECT_EQ(ChannelOfHeading("a[0][V]").name, "a[0]");
  EXPECT_EQ(ChannelOfHeading("[V]").name, "[V]");
  EXPECT_EQ(ChannelOfHeading("a]").name, "a]");
  for (const char* name : {"a", "a[0]", "a]", "P-1.value.0"}) {
    Channel channel;
    channel.name = name;
    EXPECT_EQ(ChannelOfHeading(HeadingOfChannel(channel)), channel) << name;
    channel.unit = "V";
    EXPECT_EQ(ChannelOfHeading(HeadingOfChannel(channel)), channel) << name;
  }
}

}  // namespace
}  // namespace telltale::data
