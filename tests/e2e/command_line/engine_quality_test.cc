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
  int single = 0;
  int right = 0;
  for (const auto& kind : kinds) {
    for (const char* name :
         {"bus_sag", "drift", "lost_correlation", "spike", "stuck_valve"}) {
      if (kind["kind"] != name) continue;
      single += kind["contributions"]["labels"].get<int>();
      right += kind["contributions"]["right"].get<int>();
    }
  }
  std::cout << "faults of one channel that has the largest share: " << right
            << " of " << single << '\n';
  EXPECT_GE(single, 30);
  EXPECT_GE(right, 0.95 * single);
  EXPECT_GE(count, 40);
  EXPECT_GE(found, 0.9 * count);
  EXPECT_GE(hits, 0.5);
  EXPECT_LE(false_alarms, 5);
  EXPECT_LT(random_hits, 0.2);
}

}  // namespace
}  // namespace telltale::testing
