// telltale train and inspect, as typed.

#include <csignal>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/command_line/command_line_fixture.h"

namespace telltale::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

using TrainCommandTest = CommandLineFixture;

constexpr char kOneLine[] = "telltale: [^\n]*\n";

TEST_F(TrainCommandTest, WritesAModelThatInspectDescribes) {
  const std::string data = Simulate("nominal.csv", 1, 1'200);
  const std::string model = Path("m.safetensors");

  const Outcome outcome =
      Run({"train", "--data", data, "--config", SmallConfig(), "--out", model,
           "--false-alarms", "3/10000", "--seed", "9"});

  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("budget of 3 false-alarm events"));
  EXPECT_THAT(outcome.err, HasSubstr("100 %  step 40 of 40, loss"));
  const auto json =
      nlohmann::json::parse(Succeed({"inspect", "--model", model, "--json"}));
  EXPECT_EQ(json["training"]["seed"], 9);
  EXPECT_EQ(json["training"]["instants"], 1'200);
  EXPECT_EQ(json["training"]["steps"], 40);
  EXPECT_EQ(json["context_length"], 48);
  EXPECT_EQ(json["channels"][0]["name"], "pump_inlet_pressure");
  EXPECT_EQ(json["channels"][0]["unit"], "kPa");
  EXPECT_EQ(json["card"]["data"][0], "nominal.csv");
  EXPECT_THAT(Succeed({"inspect", "--model", model}),
              HasSubstr(json["version"].get<std::string>()));
}

TEST_F(TrainCommandTest, WritesTheModelsCard) {
  const std::string data = Simulate("nominal.csv", 1, 1'200);
  const std::string model = Path("m.safetensors");
  const std::vector<std::string> train = {
      "train", "--data", data, "--config", SmallConfig(), "--out", model};

  Succeed(train);
  std::vector<std::string> elsewhere = train;
  elsewhere.insert(elsewhere.end(), {"--card", Path("card.md")});
  Succeed(elsewhere);

  const std::string card = FileBytes(Path("m.card.md"));
  EXPECT_THAT(card, HasSubstr("- file nominal.csv\n"));
  EXPECT_THAT(card, HasSubstr("1,200 instants in 1 segment(s)"));
  EXPECT_THAT(card, HasSubstr("| thrust | "));
  EXPECT_THAT(card, HasSubstr("Not evaluated"));
  EXPECT_EQ(FileBytes(Path("card.md")), card);
  EXPECT_EQ(Succeed({"inspect", "--model", model, "--markdown"}), card);
}

TEST_F(TrainCommandTest, SaysThatTheModelIsSafeWhereItsCardIsNot) {
  const std::string model = Path("m.safetensors");
  // Too long a name for what is written beside its place.
  const std::string card = Path(std::string(252, 'c'));

  const Outcome outcome =
      Run({"train", "--data", Simulate("nominal.csv", 1, 1'200), "--config",
           SmallConfig(), "--out", model, "--card", card});

  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("telltale: the model is saved as " +
                                     model + "; its card: cannot create "));
  Succeed({"inspect", "--model", model});
}

TEST_F(TrainCommandTest, GivesTheSameFileForTheSameSeedAndAnyThreads) {
  const std::string data = Simulate("nominal.csv", 1, 1'200);
  const std::string config = SmallConfig();
  const auto train = [&](const std::string& name, const std::string& seed,
                         const std::string& threads) {
    Succeed({"train", "--data", data, "--config", config, "--out", Path(name),
             "--seed", seed, "--threads", threads});
    return FileBytes(Path(name));
  };

  const std::string expected = train("one", "1", "1");

  EXPECT_TRUE(train("two", "1", "2") == expected);
  EXPECT_FALSE(train("other", "2", "1") == expected);
}

TEST_F(TrainCommandTest, ConvertsABudgetADayByTheCadence) {
  const std::string model = Path("m.safetensors");
  Succeed({"train", "--data", Simulate("nominal.csv", 1, 1'200), "--config",
           SmallConfig(), "--out", model, "--false-alarms", "54/day"});

  const auto json =
      nlohmann::json::parse(Succeed({"inspect", "--model", model, "--json"}));

  // Once a second: 86,400 instants a day.
  EXPECT_DOUBLE_EQ(json["threshold"]["budget_per_10k"].get<double>(), 6.25);
}

TEST_F(TrainCommandTest, LearnsFromSeveralRunsWithDeclaredChannels) {
  const std::string first = Simulate("first.csv", 1, 800);
  const std::string second = Simulate("second.csv", 2, 700);
  const std::string config = SmallConfig();
  WriteFile("train.toml", FileBytes(config) +
                              "\n[channels.valve_command]\nkind = "
                              "\"command\"\n");
  const std::string model = Path("m.safetensors");

  Succeed(
      {"train", "--data", first, second, "--config", config, "--out", model});

  const auto json =
      nlohmann::json::parse(Succeed({"inspect", "--model", model, "--json"}));
  EXPECT_EQ(json["training"]["segments"], 2);
  EXPECT_EQ(json["training"]["instants"], 1'500);
  EXPECT_THAT(Succeed({"inspect", "--model", model}),
              HasSubstr("valve_command        %         command"));
}

TEST_F(TrainCommandTest, KeepsTheBestSoFarWhenInterrupted) {
  const std::string model = Path("m.safetensors");
  // Evaluated, and so worth keeping, long before the first line of progress.
  Process process(folder_, {"train", "--data", Simulate("run.csv", 1, 1'200),
                            "--config", SmallConfig(), "--out", model,
                            "--steps", "20000", "--threads", "1"});
  ASSERT_TRUE(process.AwaitError("  5 %"));

  process.Signal(SIGINT);
  const Outcome outcome = process.Wait();

  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("stopping; the best so far is kept"));
  EXPECT_THAT(outcome.out, HasSubstr("stopped by hand"));
  const auto json =
      nlohmann::json::parse(Succeed({"inspect", "--model", model, "--json"}));
  EXPECT_LT(json["training"]["steps"], 20'000);
}

TEST_F(TrainCommandTest, LeavesNothingWhenInterruptedTooEarly) {
  const std::string model = Path("m.safetensors");
  Process process(folder_, {"train", "--data", Simulate("run.csv", 1, 1'200),
                            "--config", SmallConfig(), "--out", model,
                            "--steps", "10000000", "--threads", "1"});
  ASSERT_TRUE(process.AwaitError("training on 1,200 instants"));

  process.Signal(SIGINT);
  const Outcome outcome = process.Wait();

  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.err,
              HasSubstr("telltale: training was stopped before there were"));
  EXPECT_FALSE(std::filesystem::exists(model));
}

TEST_F(TrainCommandTest, LeavesTheOldFileWhenKilled) {
  const std::string model = WriteFile("m.safetensors", "the old model");
  {
    Process process(
        folder_, {"train", "--data", Simulate("run.csv", 1, 1'200), "--config",
                  SmallConfig(), "--out", model, "--steps", "10000000"});
    ASSERT_TRUE(process.AwaitError("training on"));
    process.Signal(SIGKILL);
    EXPECT_EQ(process.Wait().exit_code, 128 + SIGKILL);
  }

  EXPECT_EQ(FileBytes(model), "the old model");
}

TEST_F(TrainCommandTest, SaysInOneLineWhatIsWrongWithTheFlags) {
  const std::string data = Simulate("run.csv", 1, 300);
  const std::string bad = WriteFile("bad.toml", "[training]\nstepz = 4\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"train", "--data", data}, "--out"},
      {{"train", "--out", Path("m")}, "--data"},
      {{"train", "--data", data, "--out", Path("m"), "--lables", data},
       "--lables"},
      {{"train", "--data", data, "--out", Path("m"), "--seed", "-1"}, "--seed"},
      {{"train", "--data", data, "--out", Path("m"), "--false-alarms", "5"},
       "--false-alarms: '5' is no budget"},
      {{"train", "--data", data, "--out", Path("no/such/m")},
       "--out: " + Path("no/such/m")},
      {{"train", "--data", data, "--out", data}, "is read as well"},
      {{"train", "--data", data, "--out", Path("m"), "--card", data},
       "--card: " + data},
      {{"train", "--data", data, "--out", Path("m"), "--card", Path("./m")},
       "m is what --out names; give another name"},
      {{"train", "--data", data, "--out", Path("m"), "--card",
        Path("no/such/card.md")},
       "--card: " + Path("no/such/card.md") + " cannot be written"},
      {{"train", "--data", data, "--out", Path("m"), "--config", bad},
       "bad.toml:2:1: [training] has no setting 'stepz'"},
      {{"train", "--data", data, "--out", Path("m"), "--config", "absent"},
       "absent: no such settings file"},
  };
  for (const auto& [arguments, expected] : cases) {
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, MatchesRegex(kOneLine));
    EXPECT_THAT(outcome.err, HasSubstr(expected));
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(TrainCommandTest, SaysInOneLineWhatIsWrongWithTheData) {
  const std::string short_run = Simulate("short.csv", 1, 50);
  const std::string torn = WriteFile("torn.csv", "time,a\n0,1\n1,x\n");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {short_run, "training needs"},
      {torn, "torn.csv, line 3: column 2 (a)"},
      {Path("absent.csv"), "absent.csv"},
      {Path("run.txt"), ".csv or .npy"},
  };
  for (const auto& [data, expected] : cases) {
    const Outcome outcome = Run({"train", "--data", data, "--out", Path("m")});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(expected));
    EXPECT_FALSE(std::filesystem::exists(Path("m")));
  }
}

TEST_F(TrainCommandTest, InspectSaysInOneLineWhatIsNoModel) {
  const std::string text = WriteFile("notes.txt", "not a model");

  const Outcome damaged = Run({"inspect", "--model", text});
  const Outcome absent = Run({"inspect", "--model", Path("absent")});

  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_THAT(damaged.err, MatchesRegex(kOneLine));
  EXPECT_THAT(damaged.err, HasSubstr("notes.txt"));
  EXPECT_EQ(absent.exit_code, 1);
  EXPECT_THAT(absent.err, HasSubstr("absent"));
}

}  // namespace
}  // namespace telltale::testing
