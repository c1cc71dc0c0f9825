#include "data/time_stamp.h"

#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace telltale::data {
namespace {

using testing::HasSubstr;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

int64_t Ns(const std::string& text) {
  const auto stamp = ParseTimeStamp(text);
  EXPECT_TRUE(stamp.ok()) << stamp.status();
  return stamp.ok() ? stamp->time_ns : -1;
}

void ExpectRefused(const std::string& text, const std::string& why) {
  const auto stamp = ParseTimeStamp(text);
  ASSERT_FALSE(stamp.ok()) << text << " became " << stamp->time_ns;
  EXPECT_EQ(stamp.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(stamp.status().message()), HasSubstr(why)) << text;
}

TEST(TimeStamp, ReadsSecondsExactly) {
  EXPECT_EQ(Ns("0"), 0);
  EXPECT_EQ(Ns("-0"), 0);
  EXPECT_EQ(Ns("12"), 12'000'000'000);
  EXPECT_EQ(Ns("+12.5"), 12'500'000'000);
  EXPECT_EQ(Ns(".5"), 500'000'000);
  EXPECT_EQ(Ns("7."), 7'000'000'000);
  EXPECT_EQ(Ns("-3.000000001"), -3'000'000'001);
  // A double holds neither of these to the nanosecond.
  EXPECT_EQ(Ns("1769860800.123456789"), 1'769'860'800'123'456'789);
  EXPECT_EQ(Ns("9007199254.740993001"), 9'007'199'254'740'993'001);
}

TEST(TimeStamp, RoundsWhatIsFinerThanANanosecond) {
  EXPECT_EQ(Ns("0.30000000000000004"), 300'000'000);
  EXPECT_EQ(Ns("0.0000000005"), 1);
  EXPECT_EQ(Ns("0.00000000049999"), 0);
  EXPECT_EQ(Ns("-0.0000000005"), -1);
  EXPECT_EQ(Ns("0.9999999999"), 1'000'000'000);
}

TEST(TimeStamp, ReadsExponents) {
  EXPECT_EQ(Ns("1.5e3"), 1'500'000'000'000);
  EXPECT_EQ(Ns("1769860800123E-3"), 1'769'860'800'123'000'000);
  EXPECT_EQ(Ns("2e+0"), 2'000'000'000);
  EXPECT_EQ(Ns("0e999"), 0);
  EXPECT_EQ(Ns("1e-999"), 0);
}

TEST(TimeStamp, ReadsRfc3339WithAnyOffset) {
  EXPECT_EQ(Ns("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(Ns("2026-01-31T12:00:00Z"), 1'769'860'800'000'000'000);
  EXPECT_EQ(Ns("2026-01-31T14:00:00+02:00"), Ns("2026-01-31T12:00:00Z"));
  EXPECT_EQ(Ns("2026-01-31T06:15:00-05:45"), Ns("2026-01-31T12:00:00Z"));
  EXPECT_EQ(Ns("2026-01-31 12:00:00"), Ns("2026-01-31T12:00:00Z"));
  EXPECT_EQ(Ns("2026-01-31t12:00:00z"), Ns("2026-01-31T12:00:00Z"));
  EXPECT_EQ(Ns("2026-01-31T12:00:00.123456789Z"), 1'769'860'800'123'456'789);
  EXPECT_EQ(Ns("1969-12-31T23:59:59.75Z"), -250'000'000);
  EXPECT_EQ(Ns("2024-02-29T00:00:00Z"), 1'709'164'800'000'000'000);
  EXPECT_EQ(Ns("2000-02-29T00:00:00Z") - Ns("2000-02-28T00:00:00Z"),
            86'400'000'000'000);
}

TEST(TimeStamp, TellsTheForm) {
  EXPECT_EQ(ParseTimeStamp("5")->form, TimeForm::kSeconds);
  EXPECT_EQ(ParseTimeStamp("2026-01-31T12:00:00")->form, TimeForm::kRfc3339);
}

TEST(TimeStamp, RefusesWhatIsNone) {
  for (const char* text : {"", "-", "+", ".", "abc", "1,5", "1 ", " 1", "0x10",
                           "1e", "1e+", "1e+-3", "1.2.3", "--1", "inf", "nan",
                           "12:00:00", "1e99999999999999"}) {
    ExpectRefused(text, "is no time stamp: expected RFC 3339");
  }
  ExpectRefused("2026-1-31T12:00:00Z", "expected a date");
  ExpectRefused("2026-01-31", "expected T and a time");
  ExpectRefused("2026-01-31T12:00Z", "expected a time");
  ExpectRefused("2026-01-31T12:00:00+2", "expected Z or an offset");
  ExpectRefused("2026-01-31T12:00:00Zulu", "expected Z or an offset");
  ExpectRefused("2026-01-31T12:00:00+24:00", "expected Z or an offset");
}

TEST(TimeStamp, RefusesDaysAndHoursThatDoNotExist) {
  ExpectRefused("2026-02-29T00:00:00Z", "no such day");
  ExpectRefused("1900-02-29T00:00:00Z", "no such day");
  ExpectRefused("2026-13-01T00:00:00Z", "no such day");
  ExpectRefused("2026-00-01T00:00:00Z", "no such day");
  ExpectRefused("2026-01-00T00:00:00Z", "no such day");
  ExpectRefused("2026-01-31T24:00:00Z", "no such hour");
  ExpectRefused("2016-12-31T23:59:60Z", "leap seconds are not counted");
}

TEST(TimeStamp, ReachesExactlyAsFarAsInt64) {
  EXPECT_EQ(Ns("9223372036.854775807"), kMax);
  EXPECT_EQ(Ns("-9223372036.854775808"), kMin);
  ExpectRefused("9223372036.854775808", "beyond the years");
  ExpectRefused("-9223372036.854775809", "beyond the years");
  ExpectRefused("1e300", "beyond the years");
  EXPECT_EQ(Ns("2262-04-11T23:47:16.854775807Z"), kMax);
  EXPECT_EQ(Ns("1677-09-21T00:12:43.145224192Z"), kMin);
  ExpectRefused("2262-04-11T23:47:16.854775808Z", "beyond the years");
  ExpectRefused("1677-09-21T00:12:43.145224191Z", "beyond the years");
  ExpectRefused("9999-12-31T23:59:59Z", "beyond the years");
  ExpectRefused("0000-01-01T00:00:00Z", "beyond the years");
}

TEST(TimeStamp, WritesTheShortestForm) {
  EXPECT_EQ(FormatTimeStamp(0, TimeForm::kSeconds), "0");
  EXPECT_EQ(FormatTimeStamp(12'500'000'000, TimeForm::kSeconds), "12.5");
  EXPECT_EQ(FormatTimeStamp(-1, TimeForm::kSeconds), "-0.000000001");
  EXPECT_EQ(FormatTimeStamp(kMin, TimeForm::kSeconds), "-9223372036.854775808");
  EXPECT_EQ(FormatTimeStamp(1'769'860'800'000'000'000, TimeForm::kRfc3339),
            "2026-01-31T12:00:00Z");
  EXPECT_EQ(FormatTimeStamp(-250'000'000, TimeForm::kRfc3339),
            "1969-12-31T23:59:59.75Z");
}

TEST(TimeStamp, ReadsBackWhatItWrote) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    // Of all magnitudes, not only the largest.
    const int64_t time_ns = static_cast<int64_t>(random()) >> (i % 63);
    for (const TimeForm form : {TimeForm::kSeconds, TimeForm::kRfc3339}) {
      const std::string text = FormatTimeStamp(time_ns, form);
      const auto stamp = ParseTimeStamp(text);
      ASSERT_TRUE(stamp.ok()) << stamp.status();
      ASSERT_EQ(stamp->time_ns, time_ns) << text;
      ASSERT_EQ(stamp->form, form) << text;
    }
  }
}

}  // namespace
}  // namespace telltale::data
