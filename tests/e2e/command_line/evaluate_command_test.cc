// telltale evaluate, as typed.

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/command_line/command_line_fixture.h"

namespace telltale::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using EvaluateCommandTest = CommandLineFixture;

TEST_F(EvaluateCommandTest, RefusesWhatTheModelWasTrainedOn) {
  const std::string model = TrainSmall();
  // The run that the model was trained on, going on for 300 instants.
  const std::string longer = Simulate("longer.csv", 1, 1'500);
  const std::string other = Simulate("other.csv", 9, 300);
  const std::string labels = WriteFile("labels.csv", "start,end\n");
  for (const std::string& data : {longer, other}) {
    Succeed(
        {"score", "--model", model, "--data", data, "--out", data + ".scores"});
  }

  const Outcome refused =
      Run({"evaluate", "--scores", longer + ".scores", "--labels", labels});

  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err,
              HasSubstr("trained or calibrated on 1193 of the 1500"));
  EXPECT_THAT(refused.err, HasSubstr("--include-training"));
  EXPECT_THAT(Succeed({"evaluate", "--scores", longer + ".scores", "--labels",
                       labels, "--include-training"}),
              HasSubstr("Caution"));
  Succeed({"evaluate", "--scores", other + ".scores", "--labels", labels});
}

TEST_F(EvaluateCommandTest, TakesTheLabelsOfTheSegmentThatWasScored) {
  std::string scores = "segment,time,score,anomaly\n";
  for (int t = 0; t < 100; ++t) {
    scores += "1," + std::to_string(t) + (t == 51 ? ",9,1\n" : ",1,0\n");
  }
  const auto evaluate = [&](const std::string& labels) {
    return nlohmann::json::parse(
        Succeed({"evaluate", "--scores", WriteFile("scores.csv", scores),
                 "--labels", WriteFile("labels.csv", labels), "--json"}));
  };

  const auto report =
      evaluate("segment,start,end\n0,10,12\n1,50,52\n2,7,300\n");

  EXPECT_EQ(report["labels"], 1);
  EXPECT_EQ(report["alarms"][0]["found"], 1);
  EXPECT_EQ(evaluate("start,end\n50,52\n")["labels"], 1);
}

TEST_F(EvaluateCommandTest, AddsItsFiguresToTheCardOfTheModel) {
  const std::string model = TrainSmall();
  const std::string flight = Path("flight.csv");
  const std::string labels = Path("labels.csv");
  const std::string scores = Path("flight.scores.csv");
  Succeed({"simulate", "--seed", "3", "--steps", "3000", "--faults", "--out",
           flight, "--labels", labels});
  const std::vector<std::string> score = {"score", "--model", model, "--data",
                                          flight,  "--out",   scores};
  Succeed(score);
  const std::string before = FileBytes(scores);

  const std::string report =
      Succeed({"evaluate", "--scores", scores, "--labels", labels, "--model",
               model, "--json"});

  const std::string card = FileBytes(Path("small.card.md"));
  EXPECT_THAT(card, HasSubstr("### flight.scores.csv, labels.csv"));
  EXPECT_THAT(card, HasSubstr("| random | "));
  EXPECT_EQ(Succeed({"inspect", "--model", model, "--markdown"}), card);
  const auto inspected =
      nlohmann::json::parse(Succeed({"inspect", "--model", model, "--json"}));
  EXPECT_EQ(inspected["card"]["evaluations"][0]["figures"],
            nlohmann::json::parse(report));
  // It is the same model all the same.
  Succeed(score);
  EXPECT_EQ(FileBytes(scores), before);
}

TEST_F(EvaluateCommandTest, AddsNothingToAnotherModel) {
  const std::string model = TrainSmall();
  const std::string bytes = FileBytes(model);
  const std::string scores = WriteFile(
      "scores.csv", "time,score,threshold,anomaly\n0,1,123,0\n1,2,123,0\n");
  const std::string labels = WriteFile("labels.csv", "start,end\n");

  const Outcome refused = Run(
      {"evaluate", "--scores", scores, "--labels", labels, "--model", model});

  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err,
              HasSubstr("of 123; give the model that scored them"));
  EXPECT_EQ(FileBytes(model), bytes);
}

TEST_F(EvaluateCommandTest, NeverWritesTheCardOverWhatItReads) {
  const std::vector<std::string> names = {"model", "scores.csv", "labels.csv",
                                          "data.csv", "nominal.csv"};
  for (const std::string& name : names) WriteFile(name, "all of " + name);
  std::filesystem::create_symlink("model", Path("link"));
  const auto evaluate = [&](const std::string& card) {
    return Run({"evaluate", "--model", Path("model"), "--scores",
                Path("scores.csv"), "--labels", Path("labels.csv"), "--data",
                Path("data.csv"), "--nominal", Path("nominal.csv"), "--card",
                card});
  };
  std::vector<std::string> cards = {Path("./model"), Path("link"),
                                    Path("no/such/card.md"), folder_};
  for (const std::string& name : names) cards.push_back(Path(name));

  for (const std::string& card : cards) {
    const Outcome refused = evaluate(card);

    EXPECT_EQ(refused.exit_code, 2) << card;
    EXPECT_THAT(refused.err, StartsWith("telltale: --card: " + card + " "));
    EXPECT_EQ(refused.out, "");
    for (const std::string& name : names) {
      EXPECT_EQ(FileBytes(Path(name)), "all of " + name) << card;
    }
  }
}

TEST_F(EvaluateCommandTest, RefusesBaselinesOfWhatIsEvaluated) {
  const std::string model = TrainSmall();
  const std::string flight = Simulate("flight.csv", 2, 1'500, true);
  const std::string text = FileBytes(flight);
  size_t cut = 0;  // after 1,000 instants
  for (int line = 0; line <= 1'000; ++line) cut = text.find('\n', cut) + 1;
  const std::string part = WriteFile("part.csv", text.substr(0, cut));
  const std::string labels = WriteFile("labels.csv", "start,end\n1200,1210\n");
  Succeed({"score", "--model", model, "--data", flight, "--out",
           Path("scores.csv")});
  const auto evaluate = [&](const std::string& nominal) {
    return std::vector<std::string>{
        "evaluate", "--scores", Path("scores.csv"), "--labels", labels,
        "--data",   flight,     "--nominal",        nominal,    "--json"};
  };

  const Outcome refused = Run(evaluate(part));

  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("from 7 to 999"));
  const auto report =
      nlohmann::json::parse(Succeed(evaluate(Path("nominal.csv"))));
  std::vector<std::string> names;
  for (const auto& row : report["detection"]) names.push_back(row["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"detector", "random", "robust z",
                                             "mean 50 of |dx|",
                                             "mean 50 of |x - m|", "PCA"}));
}

}  // namespace
}  // namespace telltale::testing
