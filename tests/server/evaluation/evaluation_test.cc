#include "server/cli/evaluation.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <nlohmann/json.hpp>

#include "model/random.h"
#include "server/cli/evaluation_table.h"

namespace telltale::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int kLength = 2000;

// Quiet scores with noise below 1, one row a second.
ScoreFile QuietScores() {
  model::Random random(4);
  ScoreFile scores;
  for (int t = 0; t < kLength; ++t) {
    scores.time_ns.push_back(t * kSecond);
    scores.scores.push_back(static_cast<float>(random.Uniform()));
    scores.alarms.push_back(0);
  }
  scores.scored = kLength;
  scores.has_causes = true;
  return scores;
}

void Alarm(ScoreFile& scores, int instant, float score,
           const std::vector<int>& causes) {
  scores.scores[instant] = score;
  scores.alarms[instant] = 1;
  for (const int cause : causes) {
    scores.causes_ns[instant].push_back(cause * kSecond);
  }
}

data::LabelledEvent Label(int start, int end, int cause,
                          const std::string& kind) {
  data::LabelledEvent label;
  label.start_ns = start * kSecond;
  label.end_ns = end * kSecond;
  if (cause >= 0) {
    label.cause = data::TimeRange{cause * kSecond, (cause + 2) * kSecond};
  }
  label.kind = kind;
  return label;
}

// One label found and rightly attributed at its strongest instant, one found
// and wrongly attributed, one missed; one false alarm.
ScoreFile Scores() {
  ScoreFile scores = QuietScores();
  Alarm(scores, 500, 5, {100, 200});
  Alarm(scores, 505, 9, {503, 440, 100});
  Alarm(scores, 1000, 7, {930, 900});
  Alarm(scores, 1700, 6, {1650});
  return scores;
}

std::vector<data::LabelledEvent> Labels() {
  return {Label(500, 520, 438, "drop"), Label(995, 1010, 960, "drop"),
          Label(1400, 1420, -1, "drift")};
}

TEST(Evaluation, TellsEventsAndCauses) {
  const auto evaluation = Evaluate(Scores(), Labels(), {}, 40);

  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_EQ(evaluation->labelled, 21 + 16 + 21);
  const model::EventReport& events = evaluation->alarms[0].events;
  EXPECT_EQ(events.found, 2);
  EXPECT_EQ(events.false_events, 1);
  const model::AttributionReport& causes = evaluation->attribution[0].report;
  EXPECT_EQ(causes.events, 2);
  EXPECT_NEAR(causes.hit_at_1, 0.5, 1e-12);  // 503 is too recent to count
  EXPECT_NEAR(causes.mean_reciprocal_rank, 0.5, 1e-12);
  ASSERT_THAT(evaluation->kinds, SizeIs(2));
  EXPECT_EQ(evaluation->kinds[0].kind, "drift");
  EXPECT_EQ(evaluation->kinds[0].found, 0);
  EXPECT_EQ(evaluation->kinds[1].found, 2);
  EXPECT_NEAR(evaluation->kinds[1].attribution.hit_at_1, 0.5, 1e-12);
}

TEST(Evaluation, TellsTheRatioOfTheMeanMaskingEffects) {
  ScoreFile scores = Scores();
  EXPECT_THAT(EvaluationText(*Evaluate(scores, Labels(), {}, 40)),
              HasSubstr("telltale score --masking"));
  scores.masking[500] = {3, 0.5F};
  scores.masking[1700] = {1, 0};

  const auto evaluation = Evaluate(scores, Labels(), {}, 40);

  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_EQ(evaluation->masking.alarms, 2);
  EXPECT_DOUBLE_EQ(evaluation->masking.pointed, 2);
  EXPECT_DOUBLE_EQ(evaluation->masking.random, 0.25);
  EXPECT_THAT(EvaluationText(*evaluation),
              HasSubstr("detector       2       2.000   0.250    8.0\n"));
  const auto json = nlohmann::json::parse(EvaluationJson(*evaluation));
  EXPECT_EQ(json["masking"]["ratio"], 8);
}

TEST(Evaluation, FindsThresholdsForBudgetsFromTheScores) {
  const auto evaluation = Evaluate(Scores(), Labels(), {}, 40);

  // One false alarm is 5.15 per 10,000: too many for 1 and 5, not for 20. At
  // neither does the noise reach the third label.
  EXPECT_THAT(evaluation->detection[0].recall_at,
              ::testing::ElementsAre(::testing::DoubleNear(2.0 / 3, 1e-9),
                                     ::testing::DoubleNear(2.0 / 3, 1e-9),
                                     ::testing::Ge(2.0 / 3)));
}

TEST(Evaluation, ComparesWithChance) {
  const auto evaluation = Evaluate(Scores(), Labels(), {}, 40);

  ASSERT_THAT(evaluation->detection, SizeIs(2));
  EXPECT_EQ(evaluation->detection[1].name, "random");
  EXPECT_GT(evaluation->detection[0].vus.pr, evaluation->detection[1].vus.pr);
  EXPECT_NEAR(evaluation->detection[1].ranking.auc_roc, 0.5, 0.12);
  ASSERT_THAT(evaluation->alarms, SizeIs(2));
  EXPECT_LE(evaluation->alarms[1].events.alarm_events, 4);
  // Of 248 instants a cause of 3 with its tolerance covers 9.
  EXPECT_NEAR(evaluation->attribution[1].report.hit_at_1, 9.0 / 248, 0.02);
}

TEST(Evaluation, AddsBaselinesAsControls) {
  const std::vector<model::Baseline> baselines = {{"mine", Scores().scores}};

  const auto evaluation = Evaluate(QuietScores(), Labels(), baselines, 10);

  ASSERT_THAT(evaluation->detection, SizeIs(3));
  EXPECT_EQ(evaluation->detection[2].name, "mine");
  EXPECT_GT(evaluation->detection[2].vus.pr, evaluation->detection[0].vus.pr);
}

TEST(Evaluation, TellsRecallByKindBesideTheControls) {
  // The control finds the drift alone, and raises no false alarm.
  ScoreFile control = QuietScores();
  Alarm(control, 1410, 5, {});
  const std::vector<model::Baseline> baselines = {{"mine", control.scores}};

  const auto evaluation = Evaluate(Scores(), Labels(), baselines, 10);

  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  ASSERT_THAT(evaluation->kinds, SizeIs(2));
  const KindReport& drift = evaluation->kinds[0];
  const KindReport& drop = evaluation->kinds[1];
  ASSERT_THAT(drift.recall, SizeIs(3));
  EXPECT_EQ(drift.recall[0], 0);
  EXPECT_EQ(drift.recall[2], 1);
  EXPECT_EQ(drop.recall[0], 1);
  const auto json = nlohmann::json::parse(EvaluationJson(*evaluation));
  EXPECT_EQ(json["kinds"][0]["recall_at_5_per_10k"]["mine"], 1);
  EXPECT_THAT(EvaluationText(*evaluation), HasSubstr("Recall by kind"));
}

TEST(Evaluation, ControlsPointBackToTheirOwnHighestScores) {
  ScoreFile control = QuietScores();
  // Before the strongest alarm of the first label, at 505, from 249 to 496: its
  // cause, 438 to 440, comes second, since neighbours count as one. Of the
  // second, alarmed at 1000, the highest lies out of reach, or is too recent.
  for (const auto& [instant, score] : {std::pair(300, 9.0F),
                                       {302, 8.0F},
                                       {440, 7.0F},
                                       {500, 10.0F},
                                       {700, 9.0F},
                                       {995, 9.0F},
                                       {960, 5.0F}}) {
    control.scores[instant] = score;
  }
  const std::vector<model::Baseline> baselines = {{"mine", control.scores}};

  const auto evaluation = Evaluate(Scores(), Labels(), baselines, 10);

  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  ASSERT_THAT(evaluation->attribution, SizeIs(3));
  const model::AttributionReport& mine = evaluation->attribution[2].report;
  EXPECT_EQ(evaluation->attribution[2].name, "mine");
  EXPECT_NEAR(mine.hit_at_1, 0.5, 1e-12);
  EXPECT_NEAR(mine.hit_at_3, 1, 1e-12);
  EXPECT_NEAR(mine.mean_reciprocal_rank, 0.75, 1e-12);
}

TEST(Evaluation, TellsWhetherTheFaultyChannelHasTheLargestShare) {
  ScoreFile scores = Scores();
  scores.channel_names = {"speed", "thrust"};
  scores.top_channel.assign(kLength, 0);
  scores.top_channel[505] = 1;    // the strongest of the first label
  scores.top_channel[1000] = -1;  // of the second, which tells no channel
  scores.scores[1410] = 2;        // of the third, without an alarm
  scores.top_channel[1410] = 1;
  std::vector<data::LabelledEvent> labels = Labels();
  labels[0].channel = "thrust";
  labels[2].channel = "speed";

  const auto evaluation = Evaluate(scores, labels, {}, 40);

  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_EQ(evaluation->contributions.labels, 2);
  EXPECT_EQ(evaluation->contributions.right, 1);
  EXPECT_EQ(evaluation->contributions.found, 1);
  EXPECT_EQ(evaluation->contributions.found_right, 1);
  const auto json = nlohmann::json::parse(EvaluationJson(*evaluation));
  EXPECT_EQ(json["contributions"]["share"], 0.5);
  EXPECT_EQ(json["kinds"][0]["contributions"]["share"], 0);
  EXPECT_EQ(json["kinds"][0]["contributions"]["found_share"], nullptr);
  EXPECT_THAT(EvaluationText(*evaluation),
              HasSubstr("detector       2      1  0.500      1      1  1.000"));
}

TEST(Evaluation, SaysNothingOfSharesThatTheTableDoesNotTell) {
  std::vector<data::LabelledEvent> labels = Labels();
  labels[0].channel = "thrust";

  const auto evaluation = Evaluate(Scores(), labels, {}, 40);

  EXPECT_EQ(evaluation->contributions.labels, 0);
  EXPECT_THAT(EvaluationText(*evaluation), Not(HasSubstr("Largest share")));
}

TEST(Evaluation, CautionsWhereTheModelKnewTheTelemetry) {
  ScoreFile scores = Scores();
  EXPECT_THAT(EvaluationText(*Evaluate(scores, Labels(), {}, 10)),
              Not(HasSubstr("Caution")));

  scores.trained = 321;

  const auto evaluation = Evaluate(scores, Labels(), {}, 10);
  EXPECT_THAT(EvaluationText(*evaluation), HasSubstr("calibrated on 321 of"));
  EXPECT_EQ(nlohmann::json::parse(EvaluationJson(*evaluation))["trained"], 321);
}

TEST(Evaluation, OfNominalTelemetryCountsFalseAlarms) {
  const auto evaluation = Evaluate(Scores(), {}, {}, 40);

  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_THAT(evaluation->detection, IsEmpty());
  EXPECT_EQ(evaluation->alarms[0].events.false_events, 3);
  EXPECT_NEAR(evaluation->alarms[0].events.false_alarms_per_10k, 15, 1e-9);
  EXPECT_THAT(EvaluationText(*evaluation), HasSubstr("15.00"));
}

TEST(Evaluation, LabelsReachBeyondTheFileButMustTouchIt) {
  std::vector<data::LabelledEvent> labels = {Label(1990, 3000, -1, "")};
  EXPECT_EQ(Evaluate(Scores(), labels, {}, 40)->labelled, 10);

  labels.push_back(Label(5000, 5010, -1, ""));
  EXPECT_THAT(Evaluate(Scores(), labels, {}, 40).status().message(),
              HasSubstr("label 2, 5000 to 5010, covers none"));
}

TEST(Evaluation, RefusesLabelsThatCoverEverything) {
  const std::vector<data::LabelledEvent> labels = {Label(0, kLength, -1, "")};

  EXPECT_FALSE(Evaluate(Scores(), labels, {}, 40).ok());
}

TEST(Evaluation, TextAndJsonTellTheSame) {
  const auto evaluation = Evaluate(Scores(), Labels(), {}, 40);

  const std::string text = EvaluationText(*evaluation);
  const auto json = nlohmann::json::parse(EvaluationJson(*evaluation));

  EXPECT_THAT(text, HasSubstr("VUS-PR"));
  EXPECT_THAT(text, HasSubstr("2/3"));
  EXPECT_THAT(text, HasSubstr("drift"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_EQ(json["alarms"][0]["found"], 2);
  EXPECT_EQ(json["attribution"][1]["name"], "random");
  EXPECT_EQ(json["kinds"][1]["kind"], "drop");
  EXPECT_NEAR(json["detection"][0]["vus_pr"], evaluation->detection[0].vus.pr,
              1e-12);
}

}  // namespace
}  // namespace telltale::server
