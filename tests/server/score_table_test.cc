#include "server/cli/score_table.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/channels.h"

namespace telltale::server {
namespace {

using ::testing::HasSubstr;

data::ChannelSet Channels() {
  return data::ChannelSet::Create(
             {telltale::testing::MakeChannel("pressure", "kPa"),
              telltale::testing::MakeChannel("flow, main", "kg/s")})
      .value();
}

model::InstantScore Alarm() {
  model::InstantScore score;
  score.time_ns = 61'500'000'000;
  score.state = model::InstantState::kScored;
  score.score = 4.1F;
  score.anomaly = true;
  score.contributions = {
      {.channel = 1, .share = 1, .observed = 9.5F, .expected = 12.25F}};
  score.points_back_to = {{.time_ns = 500'000'000,
                           .lag = 61,
                           .lag_seconds = 61,
                           .weight = 0.4F,
                           .channel = 0}};
  return score;
}

std::string Written(ScoreTable::Format format, data::TimeForm form,
                    const std::vector<ScoreRow>& rows,
                    ScoreColumns columns = {}) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("telltale_table_" + std::to_string(getpid()) + ".csv");
  auto table = ScoreTable::Create(path.string(), format, form, columns);
  EXPECT_TRUE(table.ok());
  for (const ScoreRow& row : rows) table->Append(row);
  EXPECT_TRUE(table->Close().ok());
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  return text.str();
}

TEST(ScoreTable, WritesOneRowAnInstantUnderFixedColumns) {
  model::InstantScore warming;
  warming.time_ns = 60'000'000'000;

  EXPECT_EQ(
      Written(ScoreTable::Format::kCsv, data::TimeForm::kSeconds,
              {RowOf(warming, Channels(), 3), RowOf(Alarm(), Channels(), 3)}),
      "time,state,score,threshold,anomaly,verdict,channel,expected,observed,"
      "cause_time,cause_weight,cause_channel,"
      "cause2_time,cause2_weight,cause2_channel,"
      "cause3_time,cause3_weight,cause3_channel,"
      "cause4_time,cause4_weight,cause4_channel,"
      "cause5_time,cause5_weight,cause5_channel\n"
      "60,WARMING_UP,,3,0,,,,,,,,,,,,,,,,,,,\n"
      "61.5,SCORED,4.1,3,1,,\"flow, main\",12.25,9.5,0.5,0.4,pressure"
      ",,,,,,,,,,,,\n");
}

TEST(ScoreTable, AddsTheMaskingCheckWhenAsked) {
  model::InstantScore checked = Alarm();
  checked.masking = model::MaskingCheck{3, 1.5F, 0.25F};

  const std::string text =
      Written(ScoreTable::Format::kCsv, data::TimeForm::kSeconds,
              {RowOf(Alarm(), Channels(), 3), RowOf(checked, Channels(), 3)},
              {.masking = true});

  EXPECT_THAT(text, HasSubstr("cause5_channel,masking_pointed,masking_random"));
  EXPECT_THAT(text, HasSubstr(",pressure,,,,,,,,,,,,,,\n"));
  EXPECT_THAT(text, HasSubstr(",pressure,,,,,,,,,,,,,1.5,0.25\n"));
}

TEST(ScoreTable, SaysWhatTheModelWasTrainedOnWhenAsked) {
  ScoreRow row = RowOf(Alarm(), Channels(), 3);
  const ScoreRow other = row;
  row.trained = true;

  const std::string text =
      Written(ScoreTable::Format::kCsv, data::TimeForm::kSeconds, {row, other},
              {.trained = true});

  EXPECT_THAT(text, HasSubstr("cause5_channel,trained\n"));
  EXPECT_THAT(text, HasSubstr(",pressure,,,,,,,,,,,,,1\n"));
  EXPECT_THAT(text, HasSubstr(",pressure,,,,,,,,,,,,,0\n"));
}

TEST(ScoreTable, WritesTheSameNamesAsJsonLines) {
  const std::string text =
      Written(ScoreTable::Format::kJsonLines, data::TimeForm::kRfc3339,
              {RowOf(Alarm(), Channels(), 3)});

  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["time"], "1970-01-01T00:01:01.5Z");
  EXPECT_EQ(json["score"], 4.1);
  EXPECT_EQ(json["anomaly"], 1);
  EXPECT_EQ(json["channel"], "flow, main");
  EXPECT_EQ(json["cause_time"], "1970-01-01T00:00:00.5Z");
  EXPECT_TRUE(json["cause5_channel"].is_null());
  EXPECT_TRUE(json["verdict"].is_null());
  EXPECT_EQ(json.size(), 24U);
}

TEST(ScoreTable, TellsTheVerdictOfAModelThatGivesOne) {
  model::InstantScore score = Alarm();
  score.verdict = 0.875F;

  const auto json = nlohmann::json::parse(
      Written(ScoreTable::Format::kJsonLines, data::TimeForm::kSeconds,
              {RowOf(score, Channels(), 3)}));

  EXPECT_EQ(json["verdict"], 0.875);
}

TEST(ScoreTable, AMissingObservationIsAnEmptyCellAndNull) {
  model::InstantScore score = Alarm();
  score.contributions[0].observed = std::numeric_limits<float>::quiet_NaN();
  const ScoreRow row = RowOf(score, Channels(), 3);

  EXPECT_THAT(
      Written(ScoreTable::Format::kCsv, data::TimeForm::kSeconds, {row}),
      HasSubstr(",12.25,,0.5,"));
  EXPECT_THAT(
      Written(ScoreTable::Format::kJsonLines, data::TimeForm::kSeconds, {row}),
      HasSubstr("\"observed\":null"));
}

TEST(ScoreTable, SaysWhichFileCannotBeCreated) {
  const auto table =
      ScoreTable::Create("/no/such/folder/scores.csv", ScoreTable::Format::kCsv,
                         data::TimeForm::kSeconds);

  EXPECT_THAT(std::string(table.status().message()),
              HasSubstr("/no/such/folder/scores.csv"));
}

TEST(DescribeAnomaly, TellsWhenWhatAndWhatItPointsBackTo) {
  const ScoreRow row = RowOf(Alarm(), Channels(), 3);

  EXPECT_EQ(DescribeAnomaly(row, data::TimeForm::kSeconds),
            "61.5  score 4.10 (threshold 3.00)  flow, main: expected 12.25 "
            "kg/s, observed 9.5 kg/s  points back to t-61: pressure");
}

}  // namespace
}  // namespace telltale::server
