// telltale train --labels and score, on segments, as typed.

#include <cstring>
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

constexpr int kSegments = 12;
constexpr int kSteps = 80;

// Float32 segments of a reading and a command; every third reading is far off
// from step 50 to 59.
std::string SegmentsNpy() {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(kSegments) + ", " +
                       std::to_string(kSteps) + ", 2), }";
  header.resize(117, ' ');
  std::string bytes =
      std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n";
  for (int i = 0; i < kSegments; ++i) {
    for (int t = 0; t < kSteps; ++t) {
      const bool fault = i % 3 == 0 && 50 <= t && t < 60;
      const float row[] = {
          static_cast<float>((7 * t + i) % 11) / 11 + (fault ? 8.0F : 0.0F),
          t % 20 == 3 ? 1.0F : 0.0F};
      bytes.append(reinterpret_cast<const char*>(row), sizeof(row));
    }
  }
  return bytes;
}

std::string Labels() {
  std::string text = "segment,start,end\n";
  for (int i = 0; i < kSegments; i += 3) {
    text += std::to_string(i) + ",50,59\n";
  }
  return text;
}

class VerdictCommandTest : public CommandLineFixture {
 protected:
  std::string data_ = WriteFile("runs.npy", SegmentsNpy());
  std::string labels_ = WriteFile("labels.csv", Labels());
  std::string model_ = Path("m.safetensors");

  Outcome Train(const std::string& labels) {
    return Run({"train", "--data", data_, "--labels", labels, "--config",
                SmallConfig(), "--steps", "200", "--out", model_});
  }
};

TEST_F(VerdictCommandTest, ScoresSegmentsAsStreamsWithAVerdictEach) {
  const Outcome trained = Train(labels_);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("960 instants of 2 channels in 12 seg"));
  // The same numbers under another name.
  const std::string other = WriteFile("other.npy", SegmentsNpy());

  const std::string out =
      Succeed({"score", "--model", model_, "--data", other, "--json"});

  int rows = 0, alarms = 0;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line); ++rows) {
    const auto row = nlohmann::json::parse(line);
    EXPECT_EQ(row["segment"], rows / kSteps);
    EXPECT_EQ(row["time"], rows % kSteps);
    // Each segment warms up anew.
    EXPECT_EQ(row["state"], rows % kSteps < 32 ? "WARMING_UP" : "SCORED");
    EXPECT_EQ(row["verdict"].is_null(), rows % kSteps < 32);
    const bool fault = row["segment"].get<int>() % 3 == 0 &&
                       50 <= rows % kSteps && rows % kSteps < 60;
    if (fault && row["verdict"].get<double>() > 0.5) ++alarms;
    if (row["channel"].is_string()) {
      EXPECT_EQ(row["channel"], "runs.0");
    }
  }
  EXPECT_EQ(rows, kSegments * kSteps);
  EXPECT_GT(alarms, 30);  // of 40
  // And as CSV.
  EXPECT_THAT(
      Succeed({"score", "--model", model_, "--data", data_}),
      StartsWith("segment,time,state,score,threshold,anomaly,verdict,"));
  const auto card =
      nlohmann::json::parse(Succeed({"inspect", "--model", model_, "--json"}));
  EXPECT_EQ(card["encoder"]["verdict"], true);
  EXPECT_EQ(card["channels"][1]["kind"], "command");
  EXPECT_EQ(card["training"]["segments"], kSegments);
  EXPECT_EQ(card["training"]["labelled_instants"], 40);
}

TEST_F(VerdictCommandTest, SaysWhatIsWrongWithLabels) {
  const auto complaint = [&](const std::string& text) {
    const Outcome outcome = Train(WriteFile("wrong.csv", text));
    EXPECT_EQ(outcome.exit_code, 1) << text;
    return outcome.err;
  };
  EXPECT_THAT(complaint("start,end\n50,59\n"),
              HasSubstr("wrong.csv: there are 12 segments; the labels need a "
                        "column segment, counted from 0"));
  EXPECT_THAT(complaint("segment,start,end\n12,50,59\n"),
              HasSubstr("wrong.csv: a label of segment 12; there are 12"));
  EXPECT_THAT(complaint("segment,start,end\n0,80,90\n"),
              HasSubstr("wrong.csv: a labelled fault of segment 0"));
  EXPECT_THAT(complaint("segment,start,end\n"),
              HasSubstr("wrong.csv: there is no labelled fault"));
}

TEST_F(VerdictCommandTest, ServesTheVerdictsThatItScores) {
  ASSERT_EQ(Train(labels_).exit_code, 0);
  // A recording like the segments, and none of them.
  std::string run = "time,runs.0,runs.1\n";
  for (int t = 0; t < kSteps; ++t) {
    const bool fault = 50 <= t && t < 60;
    run += std::to_string(t) + "," +
           std::to_string((5 * t) % 13 / 13.0 + (fault ? 8 : 0)) + "," +
           (t % 20 == 3 ? "1" : "0") + "\n";
  }
  const std::string data = WriteFile("run.csv", run);
  const std::string scored = Path("scored.csv");
  Succeed({"score", "--model", model_, "--data", data, "--out", scored});

  const Service service = Serve(model_);

  EXPECT_EQ(Stream(service, data, "16"), FileBytes(scored));
}

}  // namespace
}  // namespace telltale::testing
