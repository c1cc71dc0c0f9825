#include "server/cli/card_markdown.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/checkpoint/safetensors.h"
#include "server/cli/evaluation_record.h"
#include "server/cli/markdown.h"
#include "tests/data/temporary_file.h"
#include "tests/support/plant_detector.h"

namespace telltale::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

model::Checkpoint Plant() {
  return model::Checkpoint::FromFile(model::PlantCheckpoint().ToFile()).value();
}

const EvaluatedFiles kFiles = {.scores = "flight.scores.csv",
                               .labels = "faults.csv",
                               .labels_sha256 = "beef",
                               .data = "flight.csv",
                               .nominal = "other.csv"};

// Two kinds of labels, one of them hardly found.
Evaluation Figures() {
  Evaluation evaluation;
  evaluation.instants = 12'345;
  evaluation.scored = 12'000;
  evaluation.labels = 10;
  evaluation.alarms.resize(2);
  evaluation.alarms[0].name = "detector";
  evaluation.alarms[0].events.labels = 10;
  evaluation.alarms[0].events.found = 7;
  evaluation.alarms[0].events.false_alarms_per_10k = 4.25;
  evaluation.alarms[1].name = "mean of |x|";
  evaluation.attribution = {
      {"detector", {.events = 4, .found = 3, .hit_at_1 = 0.75}}};
  evaluation.masking = {.alarms = 300, .pointed = 2, .random = 0.25};
  evaluation.kinds.resize(2);
  evaluation.kinds[0].kind = "drift";
  evaluation.kinds[0].labels = 8;
  evaluation.kinds[0].found = 3;
  evaluation.kinds[1].kind = "spike";
  evaluation.kinds[1].labels = 2;
  evaluation.kinds[1].found = 2;
  return evaluation;
}

TEST(CardMarkdown, TellsWhichPartsOfTheEvidenceWereLeftOut) {
  model::Checkpoint checkpoint = Plant();
  EXPECT_THAT(CardMarkdown(checkpoint, "plant.safetensors", "c0ffee"),
              Not(HasSubstr("left out")));

  checkpoint.training_record = R"({"evidence_left_out":["slow","level"]})";

  EXPECT_THAT(CardMarkdown(checkpoint, "plant.safetensors", "c0ffee"),
              HasSubstr("- parts of the evidence left out: slow, level\n"));
  checkpoint.training_record = R"({"evidence_left_out":[1]})";
  EXPECT_THAT(CardMarkdown(checkpoint, "plant.safetensors", "c0ffee"),
              HasSubstr("left out: ?\n"));
}

TEST(CardMarkdown, TellsWhatTheModelLearntFromAndHowWellItIsKnown) {
  model::Checkpoint checkpoint = Plant();
  checkpoint.card = R"({"software":"telltale 9","data":["plant.csv"]})";

  const std::string card =
      CardMarkdown(checkpoint, "models/plant.safetensors", "c0ffee");

  EXPECT_THAT(card, StartsWith("# Model card: plant.safetensors\n"));
  EXPECT_THAT(card, HasSubstr("Watches 6 channels at one instant every 1 s."));
  EXPECT_THAT(card, HasSubstr("version (SHA-256 of the file): c0ffee"));
  EXPECT_THAT(card, HasSubstr("written by telltale 9"));
  EXPECT_THAT(card, HasSubstr("- file plant.csv\n"));
  EXPECT_THAT(card, HasSubstr("| inlet | kPa | continuous | "));
  EXPECT_THAT(card, HasSubstr("for 40 false-alarm events per 10,000"));
  EXPECT_THAT(card, HasSubstr("95 % interval"));
  EXPECT_THAT(card, HasSubstr("seed 1"));
  // What was not measured is said to be unknown.
  EXPECT_THAT(card, HasSubstr("Not evaluated"));
  EXPECT_THAT(card, HasSubstr("read but not judged"));
  EXPECT_THAT(card, Not(HasSubstr("nan")));
  EXPECT_THAT(card, Not(HasSubstr("quick model")));
}

TEST(CardMarkdown, TellsEvaluationsBesideTheirControls) {
  model::Checkpoint checkpoint = Plant();
  checkpoint.card = WithEvaluation(checkpoint.card, kFiles, Figures());

  const std::string card = CardMarkdown(checkpoint, "plant", "c0ffee");

  EXPECT_THAT(card, Not(HasSubstr("Not evaluated")));
  EXPECT_THAT(card, HasSubstr("### flight.scores.csv, faults.csv"));
  EXPECT_THAT(card, HasSubstr("12,345 instants, 12,000 of them scored"));
  EXPECT_THAT(card, HasSubstr("labels' SHA-256 beef"));
  EXPECT_THAT(card, HasSubstr("| detector | 10 | 7 | "));
  EXPECT_THAT(card, HasSubstr("| mean of \\|x\\| | "));
  EXPECT_THAT(card, HasSubstr("| detector | 4 | 0.750 | "));
  EXPECT_THAT(card, HasSubstr("a ratio of 8.0"));
  EXPECT_THAT(card,
              HasSubstr("- Found less than half of these kinds at its own "
                        "threshold when evaluated: drift (3 of 8).\n"));
}

TEST(CardMarkdown, NamesKindsThatLabelsDoNotTell) {
  model::Checkpoint checkpoint = Plant();
  Evaluation figures = Figures();
  figures.kinds[0].kind = "";
  checkpoint.card = WithEvaluation(checkpoint.card, kFiles, figures);

  const std::string card = CardMarkdown(checkpoint, "plant", "c0ffee");

  EXPECT_THAT(card, HasSubstr("| (none) | 8 | 3 | "));
  EXPECT_THAT(card, HasSubstr("when evaluated: (none) (3 of 8).\n"));
}

TEST(CardMarkdown, TellsChannelsThatMoveLittleFromThoseThatRest) {
  model::Checkpoint checkpoint = Plant();
  nlohmann::json training = {{"channels",
                              {{"lowest", nlohmann::json::array()},
                               {"highest", nlohmann::json::array()},
                               {"missing", nlohmann::json::array()}}}};
  const std::vector<std::pair<nlohmann::json, nlohmann::json>> extremes = {
      {3000.001F, 3000.004F},
      {9'999'997.0F, 10'000'003.0F},
      {7.5F, 7.5F},
      {nullptr, nullptr}};
  std::vector<std::string> names;
  for (int c = 0; c < checkpoint.channels.size(); ++c) {
    if (checkpoint.channels[c].kind != data::ChannelKind::kContinuous) break;
    names.push_back(checkpoint.channels[c].name);
    const auto& [lowest, highest] = extremes.at(static_cast<size_t>(c));
    training["channels"]["lowest"].push_back(lowest);
    training["channels"]["highest"].push_back(highest);
    training["channels"]["missing"].push_back(0);
  }
  ASSERT_EQ(names.size(), extremes.size());
  checkpoint.training_record = training.dump();

  const std::string card = CardMarkdown(checkpoint, "plant", "c0ffee");

  EXPECT_THAT(card, HasSubstr("| 3000.001 | 3000.004 | 0 |"));
  EXPECT_THAT(card, HasSubstr("| 9999997 | 10000003 | 0 |"));
  EXPECT_THAT(card, HasSubstr("- Never changing in training, so that any clear "
                              "change is an anomaly: " +
                              names[2] + ".\n"));
  EXPECT_THAT(card, HasSubstr("and so never judged: " + names[3] + ".\n"));
}

TEST(CardMarkdown, TellsHowFarBackACauseMayLie) {
  const model::Checkpoint checkpoint = Plant();
  const int earliest =
      checkpoint.config.context_length() + checkpoint.config.horizons.back();

  const std::string card = CardMarkdown(checkpoint, "plant", "c0ffee");

  EXPECT_THAT(card, HasSubstr(absl::StrFormat(
                        "A cause more than %d instants (%d s) before its "
                        "effect cannot be pointed back to.",
                        earliest, earliest)));
  EXPECT_THAT(card, HasSubstr("unless the channel rested at one level"));
}

TEST(CardMarkdown, WarnsOfModelsThatAreNotToBeReliedOn) {
  model::Checkpoint checkpoint = Plant();
  checkpoint.card = R"({"quick":true})";
  checkpoint.threshold.instants = 125;
  Evaluation flattered = Figures();
  flattered.trained = 77;
  checkpoint.card = WithEvaluation(checkpoint.card, kFiles, flattered);

  const std::string card = CardMarkdown(checkpoint, "plant", "c0ffee");

  EXPECT_THAT(card, HasSubstr("not to be relied on"));
  EXPECT_THAT(card, HasSubstr("125 held-out instants cannot tell more"));
  EXPECT_THAT(card, HasSubstr("calibrated on 77 of these instants"));
}

TEST(CardMarkdown, SurvivesRecordsThatSayNothing) {
  model::Checkpoint checkpoint = Plant();
  for (const char* card :
       {"not JSON", "[]", R"({"evaluations":7,"data":[4],"quick":"no"})",
        R"({"evaluations":[4,{},{"figures":[]},{"figures":{"alarms":{"a":1},
            "detection":[3,{"name":5}],"kinds":["x",{"labels":9,"found":0}],
            "masking":{},"trained":"x"},"scores":1}]})"}) {
    for (const char* training :
         {"", "{}", R"({"channels":{"lowest":[1],"highest":"x"}})",
          R"({"held_out_loss":"x","first_time_ns":1.5})"}) {
      checkpoint.card = card;
      checkpoint.training_record = training;
      EXPECT_THAT(CardMarkdown(checkpoint, "x", "y"),
                  AllOf(StartsWith("# Model card: x"),
                        HasSubstr("## Known blind spots")));
      EXPECT_THAT(WithEvaluation(card, kFiles, Figures()),
                  HasSubstr("flight.scores.csv"));
    }
  }
}

TEST(CardMarkdown, LiesBesideTheModel) {
  EXPECT_EQ(CardPath("models/engine.safetensors"), "models/engine.card.md");
  EXPECT_EQ(CardPath("m"), "m.card.md");
  EXPECT_EQ(CardPath("engine.v1"), "engine.v1.card.md");
  EXPECT_EQ(CardPath("engine.v2.safetensors"), "engine.v2.card.md");
}

TEST(WriteCard, TellsTheVersionOfTheFileAsItLiesThere) {
  const data::TemporaryFile model("m.safetensors");
  const data::TemporaryFile card("m.card.md");
  ASSERT_TRUE(Plant().Save(model.path()).ok());
  std::string version;
  const auto checkpoint = model::Checkpoint::Load(model.path(), &version);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();

  ASSERT_TRUE(WriteCard(*checkpoint, model.path(), card.path()).ok());

  EXPECT_EQ(card.Content(), CardMarkdown(*checkpoint, model.path(), version));
}

TEST(WriteCard, SaysThatTheModelIsSafeWhereTheCardCannotBeWritten) {
  const data::TemporaryFile model("m.safetensors");
  ASSERT_TRUE(Plant().Save(model.path()).ok());

  const absl::Status status =
      WriteCard(Plant(), model.path(), "no/such/card.md");

  EXPECT_THAT(std::string(status.message()),
              AllOf(StartsWith("the model is saved as " + model.path() +
                               "; its card: "),
                    HasSubstr("no/such/card.md")));
}

TEST(WithEvaluation, ReplacesTheSameAndKeepsTheLatest) {
  std::string card = R"({"software":"telltale 9"})";
  for (int i = 0; i < 9; ++i) {
    EvaluatedFiles files = kFiles;
    files.scores = std::string(1, static_cast<char>('a' + i));
    card = WithEvaluation(card, files, Figures());
    card = WithEvaluation(card, files, Figures());
  }

  const auto json = nlohmann::json::parse(card);

  EXPECT_EQ(json["software"], "telltale 9");
  ASSERT_EQ(json["evaluations"].size(), kMostEvaluations);
  EXPECT_EQ(json["evaluations"].front()["scores"], "f");
  EXPECT_EQ(json["evaluations"].back()["scores"], "i");
  EXPECT_EQ(json["evaluations"].back()["nominal"], "other.csv");
  EXPECT_EQ(json["evaluations"].back()["figures"]["alarms"][0]["found"], 7);
}

TEST(Markdown, EscapesWhatWouldBeMarkup) {
  EXPECT_EQ(EscapeMarkdown("pump_speed 2"), "pump_speed 2");
  EXPECT_EQ(EscapeMarkdown("a|b\n<i>*"), "a\\|b \\<i\\>\\*");
}

TEST(Markdown, WritesTables) {
  MarkdownTable table({"a", "b"});
  table.Add({"x", "1"});
  EXPECT_EQ(table.Text(), "| a | b |\n|---|---:|\n| x | 1 |\n\n");
}

}  // namespace
}  // namespace telltale::server
