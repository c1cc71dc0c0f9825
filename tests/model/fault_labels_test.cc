#include "model/training/fault_labels.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/plant.h"

namespace telltale::model {
namespace {

using testing::HasSubstr;

// Two segments of 100 instants, a second apart, that start at 0 and at 1000 s.
std::vector<data::Series> Segments() {
  std::vector<data::Series> segments(2);
  for (int s = 0; s < 2; ++s) {
    segments[s].channels =
        data::ChannelSet::Create({MakeChannel("x", "")}).value();
    for (int t = 0; t < 100; ++t) {
      segments[s].time_ns.push_back((1000 * s + t) * kPlantCadenceNs);
      segments[s].samples.push_back(0);
    }
  }
  return segments;
}

data::TimeRange Seconds(double start, double end) {
  return {static_cast<int64_t>(1e9 * start), static_cast<int64_t>(1e9 * end)};
}

TEST(FaultLabels, HoldTheInstantsFromStartToEndOfTheirSegment) {
  const auto labels = FaultLabels::Create(
      Segments(),
      std::vector<std::vector<data::TimeRange>>{{}, {Seconds(1010, 1012.5)}});

  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_FALSE(labels->empty());
  EXPECT_FALSE(labels->Holds(1, 9));
  EXPECT_TRUE(labels->Holds(1, 10));
  EXPECT_TRUE(labels->Holds(1, 12));
  EXPECT_FALSE(labels->Holds(1, 13));
  EXPECT_FALSE(labels->Holds(0, 10));
  EXPECT_EQ(labels->CountInstants({1, 0, 100}), 3);
  EXPECT_EQ(labels->CountInstants({1, 11, 12}), 1);
}

TEST(FaultLabels, MakeOneOfWhatOverlaps) {
  const auto labels = FaultLabels::Create(
      Segments(),
      std::vector<std::vector<data::TimeRange>>{
          {Seconds(50, 60), Seconds(10, 20), Seconds(15, 17), Seconds(18, 30)},
          {}});

  ASSERT_TRUE(labels.ok()) << labels.status();
  const std::vector<Range> within = labels->Within({0, 12, 55});
  ASSERT_EQ(within.size(), 2U);
  EXPECT_EQ(within[0].begin, 12);
  EXPECT_EQ(within[0].end, 31);
  EXPECT_EQ(within[1].begin, 50);
  EXPECT_EQ(within[1].end, 55);
  EXPECT_TRUE(labels->Holds(0, 17));
  EXPECT_TRUE(labels->Holds(0, 30));
  EXPECT_FALSE(labels->Holds(0, 31));
}

TEST(FaultLabels, AreRefusedWhenTheyAreNotThoseOfTheTelemetry) {
  const auto message = [](std::vector<std::vector<data::TimeRange>> faults) {
    return std::string(
        FaultLabels::Create(Segments(), faults).status().message());
  };
  EXPECT_THAT(message({{}, {}}), HasSubstr("no labelled fault"));
  EXPECT_THAT(message({{}}), HasSubstr("labels of 1 segments; expected 2"));
  EXPECT_THAT(
      message({{Seconds(100, 200)}, {}}),
      HasSubstr("fault of segment 0, from 100 s to 200 s, covers none"));
  // Between two instants.
  EXPECT_THAT(message({{Seconds(10.1, 10.9)}, {}}), HasSubstr("covers none"));
}

TEST(FaultLabels, ByDefaultLabelNothing) {
  const FaultLabels labels;

  EXPECT_TRUE(labels.empty());
  EXPECT_FALSE(labels.Holds(3, 5));
  EXPECT_TRUE(labels.Within({3, 0, 10}).empty());
  EXPECT_EQ(labels.CountInstants({3, 0, 10}), 0);
}

}  // namespace
}  // namespace telltale::model
