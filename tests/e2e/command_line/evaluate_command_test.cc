// telltale evaluate, as typed.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/command_line/command_line_fixture.h"

namespace telltale::testing {
namespace {

using ::testing::HasSubstr;

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
