#include "model/training/division.h"

#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/plant.h"

namespace telltale::model {
namespace {

using testing::HasSubstr;

// A context of 64 instants, forecasts 8 instants ahead.
EncoderConfig Encoder() {
  EncoderConfig config;
  config.layers.back().reach = 64;
  config.horizons = {1, 8};
  return config;
}

std::vector<data::Series> Segments(const std::vector<int>& lengths) {
  std::vector<data::Series> segments;
  segments.reserve(lengths.size());
  for (int length : lengths) segments.push_back(PlantSeries(1, length));
  return segments;
}

// Faults at the fifth instant of some segments.
FaultLabels Label(const std::vector<data::Series>& segments,
                  const std::vector<size_t>& faulty) {
  std::vector<std::vector<data::TimeRange>> faults(segments.size());
  for (size_t i : faulty) {
    faults[i] = {{segments[i].time_ns[4], segments[i].time_ns[5]}};
  }
  return FaultLabels::Create(segments, faults).value();
}

TEST(Divide, HoldsOutTheEndOfALongSegmentAndKeepsTargetsOffIt) {
  const auto segments = Segments({400});

  const auto division = Divide(segments, {}, 0.25, Encoder());

  ASSERT_TRUE(division.ok()) << division.status();
  EXPECT_FALSE(division->whole);
  ASSERT_EQ(division->training.size(), 1U);
  ASSERT_EQ(division->held_out.size(), 1U);
  EXPECT_EQ(division->training[0].begin, 0);
  EXPECT_EQ(division->training[0].end, 292);
  EXPECT_EQ(division->held_out[0].begin, 300);
  EXPECT_EQ(division->held_out[0].end, 400);
  EXPECT_EQ(division->training_instants, 292);
}

TEST(Divide, DealsManyShortSegmentsWhole) {
  const auto segments = Segments(std::vector<int>(40, 128));

  const auto division = Divide(segments, {}, 0.25, Encoder());

  ASSERT_TRUE(division.ok()) << division.status();
  EXPECT_TRUE(division->whole);
  EXPECT_EQ(division->held_out.size(), 10U);
  EXPECT_EQ(division->training.size(), 30U);
  EXPECT_EQ(division->training_instants, 30 * 128);
  std::vector<int> seen(40);
  for (const auto& ranges : {division->training, division->held_out}) {
    int last = -1;
    for (const Range& range : ranges) {
      EXPECT_EQ(range.begin, 0);
      EXPECT_EQ(range.end, 128);
      EXPECT_GT(range.segment, last);  // in order
      last = range.segment;
      ++seen[static_cast<size_t>(range.segment)];
    }
  }
  EXPECT_THAT(seen, testing::Each(1));
}

TEST(Divide, TrainsOnTheWholeOfWhatIsTooShortBesideOthers) {
  auto segments = Segments({400, 70});
  segments[1].name = "short.csv";

  const auto division = Divide(segments, {}, 0.25, Encoder());

  ASSERT_TRUE(division.ok()) << division.status();
  EXPECT_THAT(division->training,
              testing::ElementsAre(Range{0, 0, 292}, Range{1, 0, 70}));
  EXPECT_THAT(division->held_out, testing::ElementsAre(Range{0, 300, 400}));
  EXPECT_EQ(division->training_instants, 362);

  // There must be something to hold out.
  EXPECT_THAT(Divide(std::span(segments).last(1), {}, 0.25, Encoder())
                  .status()
                  .message(),
              HasSubstr("short.csv leaves 45 instants to train on, of 70"));
}

TEST(Divide, HoldsOutTheSameShareOfSegmentsWithFaults) {
  const auto segments = Segments(std::vector<int>(40, 128));
  const FaultLabels labels = Label(segments, {0, 1, 2, 3, 20, 21, 22, 23});

  const auto division = Divide(segments, labels, 0.25, Encoder());

  ASSERT_TRUE(division.ok()) << division.status();
  int faulty = 0;
  for (const Range& range : division->held_out) {
    faulty += labels.CountInstants(range) > 0 ? 1 : 0;
  }
  EXPECT_EQ(faulty, 2);
  EXPECT_EQ(division->held_out.size(), 10U);
}

TEST(Divide, HoldsOutOneOfFewFaultySegmentsAndTrainsOnTheRest) {
  const auto segments = Segments(std::vector<int>(20, 128));
  const FaultLabels labels = Label(segments, {4, 9});

  const auto division = Divide(segments, labels, 0.25, Encoder());

  ASSERT_TRUE(division.ok()) << division.status();
  const auto count = [&](const std::vector<Range>& ranges) {
    int faulty = 0;
    for (const Range& range : ranges) faulty += labels.CountInstants(range) > 0;
    return faulty;
  };
  EXPECT_EQ(count(division->training), 1);
  EXPECT_EQ(count(division->held_out), 1);
}

TEST(Divide, DividesLongSegmentsByTimeAmongShortOnes) {
  std::vector<int> lengths(8, 128);
  lengths.push_back(1000);

  const auto division = Divide(Segments(lengths), {}, 0.25, Encoder());

  ASSERT_TRUE(division.ok()) << division.status();
  EXPECT_FALSE(division->whole);
  EXPECT_EQ(division->training.back().segment, 8);
  EXPECT_EQ(division->training.back().end, 742);
  EXPECT_EQ(division->held_out.back().begin, 750);
  EXPECT_EQ(division->held_out.size(), 3U);
}

TEST(Divide, DividesAFewShortSegmentsByTime) {
  const auto division =
      Divide(Segments(std::vector<int>(7, 128)), {}, 0.25, Encoder());

  ASSERT_TRUE(division.ok()) << division.status();
  EXPECT_FALSE(division->whole);
  EXPECT_EQ(division->held_out.size(), 7U);
  EXPECT_EQ(division->held_out[6].begin, 96);
}

TEST(Divide, RefusesASegmentThatLeavesTooLittle) {
  const auto division = Divide(Segments({90}), {}, 0.25, Encoder());

  EXPECT_THAT(std::string(division.status().message()),
              HasSubstr("segment 0 leaves 60 instants to train on, of 90"));
}

}  // namespace
}  // namespace telltale::model
