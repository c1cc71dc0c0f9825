#include "server/cli/model_card.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "server/cli/card_text.h"
#include "tests/support/plant_detector.h"

namespace telltale::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(ModelCard, TellsWhatTheModelIs) {
  const std::string card =
      ModelCard(model::PlantCheckpoint(), "plant.safetensors", "c0ffee");

  EXPECT_THAT(card, HasSubstr("plant.safetensors"));
  EXPECT_THAT(card, HasSubstr("c0ffee"));
  EXPECT_THAT(card, HasSubstr("cadence     1 s"));
  EXPECT_THAT(card, HasSubstr("context     64 instants"));
  EXPECT_THAT(card, HasSubstr("keys from the stem, over 64 instants; 1 of 2 "
                              "heads blind to the last 8"));
  EXPECT_THAT(card, HasSubstr("inlet   kPa       continuous"));
  EXPECT_THAT(card, HasSubstr("discrete: off = 0, idle = 1, run = 2"));
  EXPECT_THAT(card, HasSubstr("budget of 40 false-alarm events"));
}

TEST(ModelCard, TellsProgramsTheSame) {
  const model::Checkpoint& checkpoint = model::PlantCheckpoint();

  const auto json = nlohmann::json::parse(
      ModelCardJson(checkpoint, "plant.safetensors", "c0ffee"));

  EXPECT_EQ(json["version"], "c0ffee");
  EXPECT_EQ(json["cadence_ns"], 1'000'000'000);
  EXPECT_EQ(json["context_length"], 64);
  EXPECT_EQ(json["channels"].size(), 6);
  EXPECT_EQ(json["channels"][0]["unit"], "kPa");
  EXPECT_EQ(json["channels"][5]["vocabulary"][2]["label"], "run");
  EXPECT_EQ(json["encoder"]["layers"][1]["key_source"], "stem");
  EXPECT_EQ(json["threshold"]["threshold"].get<float>(),
            checkpoint.threshold.threshold);
  EXPECT_EQ(json["training"]["seed"], 1);
}

TEST(ModelCard, SurvivesARecordThatSaysNothing) {
  model::Checkpoint checkpoint = [] {
    return model::Checkpoint::FromFile(model::PlantCheckpoint().ToFile())
        .value();
  }();
  checkpoint.training_record = "[]";
  checkpoint.card = "not JSON";

  EXPECT_THAT(ModelCard(checkpoint, "x", "y"), HasSubstr("seed        ?"));
  EXPECT_THAT(ModelCardJson(checkpoint, "x", "y"),
              HasSubstr("\"training\":{}"));
}

TEST(WideIntervalText, TellsHowMuchTelemetryWouldNarrowTheInterval) {
  model::Checkpoint checkpoint = [] {
    return model::Checkpoint::FromFile(model::PlantCheckpoint().ToFile())
        .value();
  }();
  checkpoint.threshold.budget_per_10k = 40;
  checkpoint.threshold.instants = 125;

  checkpoint.training_record = R"({"held_out":0.25})";
  EXPECT_THAT(WideIntervalText(checkpoint),
              HasSubstr("about 10,000 instants of training"));
  checkpoint.training_record = R"({"held_out":0.5})";
  EXPECT_THAT(WideIntervalText(checkpoint),
              HasSubstr("about 5,000 instants of training"));
  for (const char* record :
       {"{}", R"({"held_out":0})", R"({"held_out":"x"})"}) {
    checkpoint.training_record = record;
    EXPECT_THAT(WideIntervalText(checkpoint), EndsWith(" per 10,000"));
  }
  checkpoint.threshold.instants = 2'500;
  EXPECT_EQ(WideIntervalText(checkpoint), "");
}

TEST(Grouped, PutsACommaBetweenThousands) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1'000), "1,000");
  EXPECT_EQ(Grouped(-1'234'567), "-1,234,567");
  EXPECT_EQ(Grouped(-123), "-123");
}

}  // namespace
}  // namespace telltale::server
