#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "model/evaluation/attribution.h"

namespace telltale::model {
namespace {

using ::testing::Optional;

TEST(AttributionReport, RankSkipsRecentInstants) {
  const AttributedEvent event = {
      .cause = {40, 42}, .alarm = 100, .candidates = {99, 92, 70, 41, 10}};

  // 99 and 92 are 1 and 8 instants back: struck off.
  EXPECT_THAT(RankOfCause(event), Optional(2));
  EXPECT_THAT(RankOfCause(event, 3, 7), Optional(3));
}

TEST(AttributionReport, ToleranceReachesBeyondTheCauseOnBothSides) {
  const auto rank = [](int candidate) {
    return RankOfCause(
        {.cause = {40, 42}, .alarm = 100, .candidates = {candidate}});
  };

  EXPECT_EQ(rank(36), std::nullopt);
  EXPECT_THAT(rank(37), Optional(1));
  EXPECT_THAT(rank(45), Optional(1));
  EXPECT_EQ(rank(46), std::nullopt);
}

TEST(AttributionReport, UnnoticedEventsAreMisses) {
  const std::vector<AttributedEvent> events = {
      {.cause = {10, 10}, .alarm = 60, .candidates = {10}},
      {.cause = {10, 10}, .alarm = 60, .candidates = {30, 40, 11}},
      {.cause = {10, 10}, .alarm = 60, .candidates = {30}},
      {.cause = {10, 10}, .alarm = std::nullopt, .candidates = {}}};

  const AttributionReport report = ReportAttribution(events);

  EXPECT_EQ(report.events, 4);
  EXPECT_EQ(report.found, 3);
  EXPECT_NEAR(report.hit_at_1, 0.25, 1e-12);
  EXPECT_NEAR(report.hit_at_3, 0.5, 1e-12);
  EXPECT_NEAR(report.hit_at_5, 0.5, 1e-12);
  EXPECT_NEAR(report.mean_reciprocal_rank, (1 + 1.0 / 3) / 4, 1e-12);
}

TEST(AttributionReport, OfNoEventsIsZero) {
  EXPECT_EQ(ReportAttribution({}).hit_at_1, 0);
}

}  // namespace
}  // namespace telltale::model
