#include "server/cli/score_pass.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/csv_writer.h"
#include "tests/data/temporary_file.h"
#include "tests/support/plant.h"
#include "tests/support/plant_detector.h"

namespace telltale::server {
namespace {

using data::TemporaryFile;

std::vector<std::string> Verdicts(const std::string& path,
                                  const ScorePassOptions& options) {
  const model::Detector& detector = model::PlantDetector();
  auto source = TelemetrySource::Open(path, detector.description().channels);
  EXPECT_TRUE(source.ok()) << source.status();
  std::vector<std::string> verdicts;
  const absl::Status status = ScorePass(
      detector, *source, options, [&](const model::InstantScore& score) {
        verdicts.push_back(model::Text(score));
        return absl::OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status;
  return verdicts;
}

TEST(ScorePass, GivesTheSameBitsForAnyNumberOfThreads) {
  const data::Series series = model::EventfulSeries(5, 3'000);
  const TemporaryFile file("run.csv");
  ASSERT_TRUE(data::WriteCsv(series, file.path()).ok());
  const std::vector<std::string> expected =
      model::Texts(model::Score(series, 64));

  EXPECT_EQ(Verdicts(file.path(), {.threads = 1}), expected);
  const int replay = model::PlantDetector().replay_length();
  for (const int share : {replay / 2, replay + 7, 3 * replay}) {
    for (const int threads : {2, 3, 8}) {
      EXPECT_EQ(Verdicts(file.path(), {.threads = threads, .share = share}),
                expected)
          << threads << " threads, shares of " << share;
    }
  }
}

TEST(ScorePass, MakesTheSameMaskingChecksForAnyNumberOfThreads) {
  const data::Series series = model::EventfulSeries(5, 3'000);
  const TemporaryFile file("run.csv");
  ASSERT_TRUE(data::WriteCsv(series, file.path()).ok());
  const std::vector<std::string> unasked =
      Verdicts(file.path(), {.threads = 1});

  const std::vector<std::string> expected =
      Verdicts(file.path(), {.threads = 1, .with_masking = true});

  EXPECT_NE(expected, unasked);
  EXPECT_EQ(Verdicts(file.path(), {.threads = 3, .with_masking = true}),
            expected);
}

TEST(ScorePass, EndsWithTheErrorOfItsSink) {
  const data::Series series = model::PlantSeries(5, 300);
  const TemporaryFile file("run.csv");
  ASSERT_TRUE(data::WriteCsv(series, file.path()).ok());
  const model::Detector& detector = model::PlantDetector();
  auto source =
      TelemetrySource::Open(file.path(), detector.description().channels);
  ASSERT_TRUE(source.ok()) << source.status();

  int taken = 0;
  const absl::Status status =
      ScorePass(detector, *source, {}, [&taken](const model::InstantScore&) {
        return ++taken == 100 ? absl::DataLossError("full") : absl::OkStatus();
      });

  EXPECT_EQ(status, absl::DataLossError("full"));
  EXPECT_EQ(taken, 100);
}

}  // namespace
}  // namespace telltale::server
