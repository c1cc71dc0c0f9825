// telltale score, as typed, and that the service gives the same scores.

#include <algorithm>
#include <csignal>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/command_line/command_line_fixture.h"

namespace telltale::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using ScoreCommandTest = CommandLineFixture;

int64_t Lines(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

// Rows whose anomaly is 1 and that point back to an instant.
int AlarmedRows(const std::string& table) {
  int rows = 0;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    std::vector<std::string> row;
    for (std::string cell; std::getline(cells, cell, ',');) {
      row.push_back(cell);
    }
    if (row.size() > 10 && row[4] == "1" && !row[8].empty()) ++rows;
  }
  return rows;
}

TEST_F(ScoreCommandTest, WritesOneRowForEachInstant) {
  const std::string model = TrainSmall();
  const std::string data = Simulate("flight.csv", 2, 1'500, true);

  const std::string table =
      Succeed({"score", "--model", model, "--data", data});

  EXPECT_EQ(Lines(table), 1'501);
  EXPECT_THAT(table.substr(0, 200),
              StartsWith("time,state,score,threshold,anomaly,verdict,channel,"
                         "expected,observed,cause_time,cause_weight,"
                         "cause_channel,cause2_time,"));
  EXPECT_THAT(table.substr(200, 200), HasSubstr("\n0,WARMING_UP,,"));
  EXPECT_THAT(table.substr(table.size() - 400), HasSubstr("\n1499,SCORED,"));
  EXPECT_GT(AlarmedRows(table), 0);
}

TEST_F(ScoreCommandTest, WritesTheSameBytesForAnyNumberOfThreads) {
  const std::string model = TrainSmall();
  const std::string data = Simulate("flight.csv", 2, 6'000, true);
  const std::string expected =
      Succeed({"score", "--model", model, "--data", data, "--threads", "1"});

  for (const char* threads : {"2", "3", "7"}) {
    EXPECT_TRUE(Succeed({"score", "--model", model, "--data", data, "--threads",
                         threads}) == expected)
        << threads;
  }
}

TEST_F(ScoreCommandTest, EqualsTheServiceWhateverTheWindow) {
  const std::string model = TrainSmall();
  const std::string data = Simulate("flight.csv", 2, 1'500, true);
  const std::string expected =
      Succeed({"score", "--model", model, "--data", data});
  ASSERT_GT(AlarmedRows(expected), 0);
  const Service service = Serve(model);

  for (const char* window : {"1", "7", "16", "250"}) {
    EXPECT_TRUE(Stream(service, data, window) == expected)
        << "windows of " << window;
  }

  service.process->Signal(SIGTERM);
  EXPECT_EQ(service.process->Wait().exit_code, 0);
}

TEST_F(ScoreCommandTest, ScoresInThePrecisionAskedForAsTheServiceDoes) {
  const std::string model = TrainSmall();
  const std::string data = Simulate("flight.csv", 2, 1'500, true);
  const auto score = [&](const std::string& precision) {
    return Succeed(
        {"score", "--model", model, "--data", data, "--precision", precision});
  };
  EXPECT_TRUE(score("f32") ==
              Succeed({"score", "--model", model, "--data", data}));
  const std::string fastest = score("auto");
  if (fastest == score("f32")) GTEST_SKIP() << "this processor has no bf16";
  EXPECT_TRUE(fastest == score("bf16"));

  const Service service = Serve(model, {"--precision", "auto"});
  EXPECT_TRUE(Stream(service, data, "16") == fastest);
  service.process->Signal(SIGTERM);
  EXPECT_EQ(service.process->Wait().exit_code, 0);
}

TEST_F(ScoreCommandTest, WritesJsonLinesWithTheSameNames) {
  const std::string model = TrainSmall();
  const std::string data = Simulate("flight.csv", 2, 200);
  const std::string out = Path("scores.jsonl");

  Succeed({"score", "--model", model, "--data", data, "--json", "--out", out});

  const std::string text = FileBytes(out);
  EXPECT_EQ(Lines(text), 200);
  const auto first = nlohmann::json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(first["time"], 0);
  EXPECT_EQ(first["state"], "WARMING_UP");
  EXPECT_TRUE(first["score"].is_null());
  EXPECT_TRUE(first.contains("cause5_channel"));
}

TEST_F(ScoreCommandTest, EchoesTheFormOfTime) {
  const std::string model = TrainSmall();
  const std::string seconds = FileBytes(Simulate("flight.csv", 2, 3));
  std::string dated = seconds.substr(0, seconds.find('\n') + 1);
  for (size_t at = dated.size(), t = 0; t < 3; ++t) {
    const size_t comma = seconds.find(',', at);
    const size_t end = seconds.find('\n', at) + 1;
    dated += "2026-01-31T12:00:0" + std::to_string(t) + "Z" +
             seconds.substr(comma, end - comma);
    at = end;
  }

  const std::string table = Succeed(
      {"score", "--model", model, "--data", WriteFile("dated.csv", dated)});

  EXPECT_THAT(table, HasSubstr("\n2026-01-31T12:00:02Z,"));
}

// Scores with a lag look so far ahead and no further.
TEST_F(ScoreCommandTest, LooksAheadNoFurtherThanItsLag) {
  const std::string model = TrainSmall();
  const std::string whole = FileBytes(Simulate("flight.csv", 2, 1'500, true));
  const std::string data = WriteFile("whole.csv", whole);
  size_t cut = 0;  // after 1,400 instants
  for (int line = 0; line <= 1'400; ++line) cut = whole.find('\n', cut) + 1;
  const std::string part = WriteFile("part.csv", whole.substr(0, cut));
  const auto score = [&](const std::string& file) {
    return Succeed({"score", "--model", model, "--data", file, "--lag", "5"});
  };

  const std::string of_whole = score(data);
  const std::string of_part = score(part);

  EXPECT_EQ(Lines(of_whole), 1'501);
  EXPECT_EQ(Lines(of_part), 1'401);
  size_t same = 0;  // up to instant 1,394, whose 5 followers are all there
  for (int line = 0; line <= 1'395; ++line) {
    same = of_part.find('\n', same) + 1;
  }
  EXPECT_TRUE(of_whole.substr(0, same) == of_part.substr(0, same));
  EXPECT_FALSE(of_whole.substr(0, of_part.size()) == of_part);
}

TEST_F(ScoreCommandTest, SaysInOneLineWhatIsWrong) {
  const std::string model = TrainSmall();
  const std::string data = Simulate("flight.csv", 2, 300);
  const std::string text = FileBytes(data);
  const std::string head = text.substr(0, text.find('\n'));
  const std::string empty = WriteFile("empty.csv", head + "\n");
  std::string bars = head;
  bars.replace(bars.find("[kPa]"), 5, "[bar]");
  const std::string other = WriteFile("bars.csv", bars + "\n");
  const std::vector<std::tuple<std::vector<std::string>, int, std::string>>
      cases = {
          {{"score", "--data", data}, 2, "--model"},
          {{"score", "--model", model, "--data", data, "--lag", "-1"},
           2,
           "--lag"},
          {{"score", "--model", model, "--data", data, "--out", data},
           2,
           "is read as well"},
          {{"score", "--model", model, "--data", data, "--precision", "int4"},
           2,
           "--precision: 'int4' is not a precision; there are auto, f32"},
          {{"score", "--model", data, "--data", data}, 1, "flight.csv"},
          {{"score", "--model", model, "--data", Path("absent.csv")},
           1,
           "absent.csv"},
          {{"score", "--model", model, "--data", empty},
           1,
           "empty.csv: there is no instant"},
          {{"score", "--model", model, "--data", other},
           1,
           "is in 'bar', and in the model it is in 'kPa'"},
          {{"score", "--model", model, "--data", data, "--lag", "900"},
           2,
           "--lag: Value 900 not in range 0 to 64"},
          {{"score", "--model", model, "--data", data, "--out",
            Path("no/such.csv")},
           1,
           "such.csv"},
      };
  for (const auto& [arguments, code, expected] : cases) {
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith("telltale: "));
    EXPECT_EQ(Lines(outcome.err), 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(expected));
  }
  EXPECT_EQ(FileBytes(data), text);
}

}  // namespace
}  // namespace telltale::testing
