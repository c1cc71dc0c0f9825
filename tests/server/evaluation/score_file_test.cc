#include "server/cli/score_file.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "server/cli/score_table.h"
#include "tests/data/temporary_file.h"

namespace telltale::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr int64_t kSecond = 1'000'000'000;

std::string ErrorOf(const std::string& text) {
  const data::TemporaryFile file("scores.csv", text);
  return std::string(ReadScoreFile(file.path()).status().message());
}

TEST(ScoreFile, ReadsWhatTheScoreTableWrites) {
  for (const data::TimeForm form :
       {data::TimeForm::kSeconds, data::TimeForm::kRfc3339}) {
    const data::TemporaryFile file("scores.csv", "");
    auto table =
        ScoreTable::Create(file.path(), ScoreTable::Format::kCsv, form);
    ASSERT_TRUE(table.ok()) << table.status();
    ScoreRow row;
    table->Append(row);
    row = {.time_ns = kSecond,
           .state = model::InstantState::kScored,
           .score = 2.5F,
           .threshold = 3,
           .anomaly = false,
           .channel = "a,b",
           .unit = "",
           .expected = 1,
           .observed = 2,
           .causes = {}};
    table->Append(row);
    row.time_ns = 60 * kSecond;
    row.score = 4.25F;
    row.anomaly = true;
    row.causes = {{0, 60, 0.5F, "c"}, {kSecond, 59, 0.25F, "d"}};
    table->Append(row);
    ASSERT_TRUE(table->Close().ok());

    const auto scores = ReadScoreFile(file.path());

    ASSERT_TRUE(scores.ok()) << scores.status();
    EXPECT_EQ(scores->time_form, form);
    EXPECT_THAT(scores->time_ns, ElementsAre(0, kSecond, 60 * kSecond));
    EXPECT_THAT(scores->scores, ElementsAre(2.5F, 2.5F, 4.25F));
    EXPECT_THAT(scores->alarms, ElementsAre(0, 0, 1));
    EXPECT_EQ(scores->scored, 2);
    EXPECT_TRUE(scores->has_causes);
    EXPECT_THAT(scores->top_channel, ElementsAre(-1, 0, 0));
    EXPECT_THAT(scores->channel_names, ElementsAre("a,b"));
    EXPECT_EQ(scores->threshold, 3.0F);
    EXPECT_THAT(scores->causes_ns,
                ElementsAre(Pair(2, ElementsAre(0, kSecond))));
  }
}

TEST(ScoreFile, ReadsTheMaskingChecksOfAlarms) {
  const data::TemporaryFile file("scores.csv",
                                 "time,score,anomaly,masking_pointed,"
                                 "masking_random\n"
                                 "1,0.5,0,,\n2,9,1,1.5,0.25\n3,9,1,,\n");

  const auto scores = ReadScoreFile(file.path());

  ASSERT_TRUE(scores.ok()) << scores.status();
  ASSERT_EQ(scores->masking.size(), 1);
  EXPECT_EQ(scores->masking.at(1).pointed, 1.5F);
  EXPECT_EQ(scores->masking.at(1).random, 0.25F);
  const std::string header =
      "time,score,anomaly,masking_pointed,masking_random";
  EXPECT_THAT(ErrorOf(header + "\n2,9,1,1.5,\n"), HasSubstr("go together"));
  EXPECT_THAT(ErrorOf(header + "\n2,9,1,nan,1\n"),
              HasSubstr("is no masking_pointed"));
}

TEST(ScoreFile, CountsTheInstantsThatTheModelWasTrainedOn) {
  const data::TemporaryFile file("scores.csv",
                                 "time,score,anomaly,trained\n"
                                 "1,0.5,0,0\n2,9,1,1\n3,,0,1\n");

  const auto scores = ReadScoreFile(file.path());

  ASSERT_TRUE(scores.ok()) << scores.status();
  EXPECT_EQ(scores->trained, 2);
  EXPECT_THAT(ErrorOf("time,score,anomaly,trained\n1,2,0,\n"),
              AllOf(HasSubstr("(trained)"), HasSubstr("neither 0 nor 1")));
}

TEST(ScoreFile, IsOfOneSegment) {
  const data::TemporaryFile file("scores.csv",
                                 "segment,time,score,anomaly\n"
                                 "3,1,0.5,0\n3,2,9,1\n");

  const auto scores = ReadScoreFile(file.path());

  ASSERT_TRUE(scores.ok()) << scores.status();
  EXPECT_EQ(scores->segment, 3);
  EXPECT_THAT(ErrorOf("segment,time,score,anomaly\n3,1,0.5,0\n4,1,9,1\n"),
              AllOf(HasSubstr("line 3"), HasSubstr("each on its own")));
  EXPECT_THAT(ErrorOf("segment,time,score,anomaly\n-1,1,0.5,0\n"),
              HasSubstr("no segment"));
}

TEST(ScoreFile, NeedsNoMoreThanThreeColumns) {
  const data::TemporaryFile file("scores.csv",
                                 "anomaly,time,score\n0,1,0.5\n1,2,-7e1\n");

  const auto scores = ReadScoreFile(file.path());

  ASSERT_TRUE(scores.ok()) << scores.status();
  EXPECT_THAT(scores->scores, ElementsAre(0.5F, -70.0F));
  EXPECT_FALSE(scores->has_causes);
}

TEST(ScoreFile, ErrorsNameLineAndColumn) {
  EXPECT_THAT(ErrorOf("time,score\n"), HasSubstr("lacks anomaly"));
  EXPECT_THAT(ErrorOf("time,score,anomaly,score\n"), HasSubstr("stands twice"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("is empty"));
  EXPECT_THAT(ErrorOf("time,score,anomaly\n1,x,0\n"),
              AllOf(HasSubstr("line 2"), HasSubstr("column 2 (score)"),
                    HasSubstr("\"x\"")));
  for (const char* score : {"nan", "inf", "1e99", "1,5", "1 "}) {
    EXPECT_NE(ErrorOf(std::string("time,score,anomaly\n1,") + score + "x,0\n"),
              "");
  }
  EXPECT_THAT(ErrorOf("time,score,anomaly\n1,nan,0\n"),
              HasSubstr("is no score"));
  EXPECT_THAT(ErrorOf("time,score,anomaly\n1,2,yes\n"),
              HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(ErrorOf("time,score,anomaly\n1,2,0\n1,2,0\n"),
              AllOf(HasSubstr("line 3"), HasSubstr("does not increase")));
  EXPECT_THAT(ErrorOf("time,score,anomaly\n1,2,0\n2026-01-01T00:00:00Z,2,0\n"),
              HasSubstr("another form"));
  EXPECT_THAT(ErrorOf("time,score,anomaly\n1,2\n"), HasSubstr("2 cells"));
  EXPECT_THAT(ErrorOf("time,score,anomaly\n1,,1\n"),
              HasSubstr("without a score"));
  EXPECT_THAT(ErrorOf("time,score,anomaly\n1,,0\n2,,0\n"),
              HasSubstr("holds no score"));
  EXPECT_THAT(ErrorOf("time,score,anomaly,cause_time\n1,2,1,soon\n"),
              HasSubstr("cause_time"));
}

TEST(ScoreFile, OfNoFileIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(ReadScoreFile("/nowhere.csv").status()));
}

}  // namespace
}  // namespace telltale::server
