// A real channel from training to evaluation: SMAP's P-1 (Hundman et al., KDD
// 2018), its value and its commands side by side.

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/command_line/command_line_fixture.h"

namespace telltale::testing {
namespace {

using ::testing::HasSubstr;

using RealTelemetryTest = CommandLineFixture;

TEST_F(RealTelemetryTest, OfAChannelIsLearntAndScoredInThreeMinutes) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread
  const char* shared = std::getenv("TELLTALE_SHARED_DATA");
  if (shared == nullptr) {
    GTEST_SKIP() << "TELLTALE_SHARED_DATA does not name the folder that holds "
                    "smap_msl/";
  }
  const std::string folder = std::string(shared) + "/smap_msl/";
  const auto side_by_side = [&folder](const std::string& part) {
    return folder + part + "/P-1.value.npy," + folder + part + "/P-1.cmd.npy";
  };
  const std::string model = Path("p1.safetensors");
  const std::string scores = Path("scores.csv");
  const auto start = std::chrono::steady_clock::now();

  Succeed({"train", "--data", side_by_side("train"), "--out", model});
  Succeed({"score", "--model", model, "--data", side_by_side("test"), "--out",
           scores});

  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(3));
  const std::string card = Succeed({"inspect", "--model", model});
  EXPECT_THAT(card, HasSubstr("P-1.value"));
  EXPECT_THAT(card, HasSubstr("command"));
  const std::string labels =
      WriteFile("labels.csv", "start,end\n2149,2349\n4536,4844\n3539,3779\n");
  const auto evaluation = nlohmann::json::parse(
      Succeed({"evaluate", "--scores", scores, "--labels", labels, "--json"}));
  EXPECT_FALSE(evaluation.empty());
  const Service service = Serve(model);
  EXPECT_TRUE(Stream(service, side_by_side("test"), "250") ==
              FileBytes(scores));
}

}  // namespace
}  // namespace telltale::testing
