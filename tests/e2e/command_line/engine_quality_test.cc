// What the whole chain finds on a simulated engine that it has not seen, and
// where it points: simulate, train, score, evaluate, as typed.

#include <algorithm>
#include <iostream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/command_line/command_line_fixture.h"

namespace telltale::testing {
namespace {

using EngineQualityTest = CommandLineFixture;

// Faults of one channel, and how many of them have the largest share of the
// score on it.
struct Shares {
  int labels = 0;
  int right = 0;
  int found = 0;
  int found_right = 0;
};

Shares SharesOfFaultyChannels(const nlohmann::json& kinds) {
  Shares shares;
  for (const auto& kind : kinds) {
    for (const char* name :
         {"bus_sag", "drift", "lost_correlation", "spike", "stuck_valve"}) {
      if (kind["kind"] != name) continue;
      const auto& told = kind["contributions"];
      shares.labels += told["labels"].get<int>();
      shares.right += told["right"].get<int>();
      shares.found += told["found"].get<int>();
      shares.found_right += told["found_right"].get<int>();
    }
  }
  return shares;
}

TEST_F(EngineQualityTest, PressureDropsAreFoundWithinBudgetAndTracedBack) {
  const std::string nominal = Simulate("nominal.csv", 11, 100'000);
  const std::string flight = Path("flight.csv");
  const std::string labels = Path("labels.csv");
  const std::string model = Path("engine.safetensors");
  const std::string scores = Path("scores.csv");
  Succeed({"simulate", "--seed", "77", "--steps", "60000", "--faults", "--out",
           flight, "--labels", labels});
  Succeed({"train", "--data", nominal, "--out", model, "--false-alarms",
           "5/10000"});
  Succeed({"score", "--model", model, "--data", flight, "--out", scores});

  const auto report = nlohmann::json::parse(
      Succeed({"evaluate", "--scores", scores, "--labels", labels, "--json"}));
  const auto& kinds = report["kinds"];
  const auto drops = std::find_if(kinds.begin(), kinds.end(), [](auto& kind) {
    return kind["kind"] == "pressure_drop";
  });

  ASSERT_NE(drops, kinds.end());
  const double count = (*drops)["labels"];
  const double found = (*drops)["found"];
  const double hits = (*drops)["attribution"]["hit_at_1"];
  const double false_alarms = report["alarms"][0]["false_alarms_per_10k"];
  const double random_hits = report["attribution"][1]["hit_at_1"];
  std::cout << "pressure drops found: " << found << " of " << count
            << ", strongest earlier instant within 3 of the cause: " << hits
            << " (random " << random_hits
            << "), false-alarm events per 10,000 instants: " << false_alarms
            << '\n';
  const Shares shares = SharesOfFaultyChannels(kinds);
  std::cout << "faults of one channel that has the largest share: "
            << shares.right << " of " << shares.labels << ", of those found "
            << shares.found_right << " of " << shares.found << '\n';
  EXPECT_GE(shares.found, 30);
  // The tables' bar is 0.95; of so few, two more may be wrong by chance.
  EXPECT_GE(shares.found_right, 0.9 * shares.found);
  EXPECT_GE(shares.right, 0.9 * shares.labels);
  EXPECT_GE(count, 40);
  EXPECT_GE(found, 0.9 * count);
  EXPECT_GE(hits, 0.5);
  EXPECT_LE(false_alarms, 5);
  EXPECT_LT(random_hits, 0.2);
}

}  // namespace
}  // namespace telltale::testing
