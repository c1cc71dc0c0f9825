#include "server/cli/trained_span.h"

#include <string>

#include <gtest/gtest.h>

#include "data/csv_writer.h"
#include "data/series_reader.h"
#include "tests/data/temporary_file.h"
#include "tests/support/plant.h"

namespace telltale::server {
namespace {

using data::TemporaryFile;

// A run of the plant in a file, with the file's rounding.
class Recording {
 public:
  Recording(const std::string& name, uint64_t seed, int length) : file_(name) {
    EXPECT_TRUE(
        data::WriteCsv(model::PlantSeries(seed, length), file_.path()).ok());
    auto series = data::ReadSeries(file_.path());
    EXPECT_TRUE(series.ok()) << series.status();
    if (series.ok()) series_ = *std::move(series);
  }

  const std::string& path() const { return file_.path(); }
  const data::Series& series() const { return series_; }

 private:
  TemporaryFile file_;
  data::Series series_;
};

TEST(TrainedSpan, IsWhereARecordingGoesOnFromWhatWasTrainedOn) {
  const Recording all("all.csv", 3, 9'000);
  data::Series first = all.series();
  first.time_ns.resize(2'000);
  first.samples.resize(first.time_ns.size() * first.channels.size());
  model::RecordingSketch sketch;
  sketch.Add(first);

  const auto span = FindTrainedSpan(all.path(), all.series().channels, sketch);

  ASSERT_TRUE(span.ok()) << span.status();
  ASSERT_TRUE(span->has_value());
  EXPECT_EQ((*span)->start_ns, all.series().time_ns[7]);
  EXPECT_EQ((*span)->end_ns, all.series().time_ns[1'999]);
}

TEST(TrainedSpan, IsNoneInOtherTelemetryOfTheSameTime) {
  const Recording trained("trained.csv", 3, 3'000);
  const Recording other("other.csv", 4, 3'000);
  model::RecordingSketch sketch;
  sketch.Add(trained.series());

  const auto span =
      FindTrainedSpan(other.path(), trained.series().channels, sketch);

  ASSERT_TRUE(span.ok()) << span.status();
  EXPECT_FALSE(span->has_value());
}

TEST(TrainedSpan, IsNoneWhereTheModelDoesNotSay) {
  const auto span = FindTrainedSpan("nowhere.csv", {}, {});

  ASSERT_TRUE(span.ok()) << span.status();
  EXPECT_FALSE(span->has_value());
}

TEST(TrainedSpan, PassesOnWhatIsWrongWithTheFile) {
  const Recording trained("trained.csv", 3, 300);
  model::RecordingSketch sketch;
  sketch.Add(trained.series());

  EXPECT_FALSE(
      FindTrainedSpan("nowhere.csv", trained.series().channels, sketch).ok());
}

}  // namespace
}  // namespace telltale::server
