#include "model/training/held_out.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/scoring/calibration.h"

namespace telltale::model {
namespace {

using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Le;

EncoderConfig Encoder(int targets) {
  EncoderConfig encoder;
  encoder.targets = targets;
  return encoder;
}

// Segments of so many instants, of as many samples as the channels make.
std::vector<data::Series> Segments(const std::vector<int>& lengths,
                                   int channels) {
  std::vector<data::Series> segments;
  for (const int length : lengths) {
    data::Series series;
    series.time_ns.resize(static_cast<size_t>(length));
    series.samples.resize(static_cast<size_t>(length) *
                          static_cast<size_t>(channels));
    segments.push_back(std::move(series));
  }
  return segments;
}

// The last quarter of each held out.
Division DividedByTime(const std::vector<int>& lengths) {
  Division division;
  for (int i = 0; i < static_cast<int>(lengths.size()); ++i) {
    const int length = lengths[static_cast<size_t>(i)];
    division.training.push_back({i, 0, length / 4 * 3 - 16});
    division.held_out.push_back({i, length / 4 * 3, length});
  }
  return division;
}

TEST(PlanCalibration, TakesAllThatIsHeldOutAndShocksBeforeIt) {
  const std::vector<int> lengths = {4'000, 200'000};

  const auto parts = PlanCalibration(Segments(lengths, 12), FaultLabels(),
                                     Encoder(12), DividedByTime(lengths));

  EXPECT_THAT(parts,
              ElementsAre(CalibrationPart{{0, 0, 4'000}, 3'000},
                          CalibrationPart{{1, 100'000, 200'000}, 150'000}));
}

TEST(PlanCalibration, TakesNoMoreOfASegmentThanCurvesAreFittedTo) {
  const std::vector<int> lengths = {1'000'000};

  const auto parts = PlanCalibration(Segments(lengths, 1), FaultLabels(),
                                     Encoder(1), DividedByTime(lengths));

  EXPECT_THAT(parts,
              ElementsAre(CalibrationPart{{0, 850'000, 1'000'000},
                                          1'000'000 - kMaxCurveInstants}));
}

TEST(PlanCalibration, ScoresASegmentHeldOutWholeFromWhereAnyStreamIs) {
  Division division;
  division.whole = true;
  division.training = {{0, 0, 300}, {2, 0, 300}};
  division.held_out = {{1, 0, 300}};

  const auto parts = PlanCalibration(Segments({300, 300, 300}, 2),
                                     FaultLabels(), Encoder(2), division);

  EXPECT_THAT(parts, ElementsAre(CalibrationPart{{1, 0, 300}, 32},
                                 CalibrationPart{{0, 0, 300}, 300},
                                 CalibrationPart{{2, 0, 300}, 300}));
}

TEST(PlanCalibration, StaysWithinItsShareOfTheSamples) {
  struct Case {
    std::vector<int> lengths;
    int channels;
  };
  for (const Case& c : {Case{{400'000}, 60}, Case{{20'000}, 200},
                        Case{{500'000, 300'000, 90'000}, 30},
                        Case{std::vector<int>(300, 1'000), 80}}) {
    const auto segments = Segments(c.lengths, c.channels);
    const EncoderConfig encoder = Encoder(c.channels);

    const auto parts = PlanCalibration(segments, FaultLabels(), encoder,
                                       DividedByTime(c.lengths));

    double bytes = 0;
    for (const data::Series& series : segments) {
      bytes += static_cast<double>(series.samples.size() * sizeof(float));
    }
    EXPECT_THAT(CalibrationBytes(parts, encoder),
                Le(std::max(kLeastCalibrationBytes, kCalibrationShare * bytes)))
        << c.channels;
    // And makes use of it.
    EXPECT_THAT(CalibrationBytes(parts, encoder),
                Ge(0.8 * std::min(kLeastCalibrationBytes, bytes)))
        << c.channels;
    for (const CalibrationPart& part : parts) {
      EXPECT_LT(part.range.begin, part.held_out);
      EXPECT_LT(part.held_out, part.range.end);
      EXPECT_EQ(part.range.end,
                c.lengths[static_cast<size_t>(part.range.segment)]);
    }
  }
}

}  // namespace
}  // namespace telltale::model
