#include "model/evaluation/events.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "model/random.h"

namespace telltale::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

Mask AlarmsAt(const std::vector<int>& instants, int length) {
  Mask alarms(static_cast<size_t>(length), 0);
  for (int t : instants) alarms[t] = 1;
  return alarms;
}

TEST(Events, JoinsAlarmsCloserThanTheDistance) {
  const Mask nothing(100, 0);

  const auto joined = AlarmEventsOf(AlarmsAt({10, 29, 30}, 100), nothing, 20);
  ASSERT_EQ(joined.size(), 1);
  EXPECT_EQ(joined[0].span, (Interval{10, 30}));

  const auto apart = AlarmEventsOf(AlarmsAt({10, 30}, 100), nothing, 20);
  ASSERT_EQ(apart.size(), 2);
  EXPECT_EQ(apart[1].span, (Interval{30, 30}));
}

TEST(Events, CountsByTelemanomsRule) {
  // Labels: one hit by two events, one hit at its last instant, one missed.
  const std::vector<Interval> labels = {{100, 199}, {300, 309}, {500, 509}};
  const Mask alarms =
      AlarmsAt({20, 110, 111, 150, 309, 315, 400, 401, 900}, 1000);

  const auto report = ReportEvents(alarms, labels);

  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->labels, 3);
  EXPECT_EQ(report->found, 2);
  EXPECT_EQ(report->alarm_events, 6);
  EXPECT_EQ(report->false_events, 3);      // at 20, 400 and 900
  EXPECT_EQ(report->redundant_events, 1);  // at 150
  EXPECT_THAT(report->first_alarm,
              ElementsAre(Optional(110), Optional(309), std::nullopt));
  EXPECT_NEAR(report->precision, 2.0 / 5, 1e-12);
  EXPECT_NEAR(report->recall, 2.0 / 3, 1e-12);
  EXPECT_NEAR(report->f05, 1.25 * 0.4 * (2.0 / 3) / (0.25 * 0.4 + 2.0 / 3),
              1e-12);
  EXPECT_NEAR(report->alarming_precision, 2.0 / 3, 1e-12);
  // 880 instants are not labelled; 5 of them alarm: 20, 315, 400, 401, 900.
  EXPECT_NEAR(report->false_alarms_per_10k, 3e4 / 880, 1e-9);
  EXPECT_NEAR(report->corrected_precision, 0.4 * (1 - 5.0 / 880), 1e-12);
  EXPECT_NEAR(report->mean_delay, 9.5, 1e-12);
  EXPECT_NEAR(report->median_delay, 9.5, 1e-12);
}

TEST(Events, OneAlarmMayFindOverlappingLabels) {
  const std::vector<Interval> labels = {{10, 30}, {20, 40}};

  const auto report = ReportEvents(AlarmsAt({25}, 100), labels);

  EXPECT_EQ(report->found, 2);
  EXPECT_EQ(report->redundant_events, 0);
  EXPECT_NEAR(report->median_delay, 10, 1e-12);
}

TEST(ReportEvents, ExcusesAlarmsBetweenCauseAndEffect) {
  const std::vector<Interval> labels = {{60, 70}};
  const std::vector<Interval> excused = {{20, 60}};

  const auto report =
      ReportEvents(AlarmsAt({5, 30, 65}, 100), labels, 20, excused);

  EXPECT_EQ(report->false_events, 1);
  EXPECT_EQ(report->found, 1);
  EXPECT_EQ(report->redundant_events, 0);
  EXPECT_DOUBLE_EQ(report->false_alarms_per_10k, 1e4 / (100 - 51));
}

TEST(Events, AlarmingAlwaysIsWorthNothing) {
  const std::vector<Interval> labels = {{10, 19}};

  const auto report = ReportEvents(Mask(100, 1), labels);

  EXPECT_EQ(report->precision, 1);
  EXPECT_EQ(report->corrected_precision, 0);
  EXPECT_EQ(report->corrected_f05, 0);
}

TEST(Events, WithoutAlarmsOrLabelsRatiosAreZero) {
  const auto silent = ReportEvents(Mask(50, 0), std::vector<Interval>{{3, 4}});
  EXPECT_EQ(silent->precision, 0);
  EXPECT_EQ(silent->f05, 0);
  EXPECT_EQ(silent->mean_delay, 0);

  const auto nominal = ReportEvents(AlarmsAt({7}, 50), {});
  EXPECT_EQ(nominal->recall, 0);
  EXPECT_NEAR(nominal->false_alarms_per_10k, 200, 1e-9);
  EXPECT_THAT(nominal->first_alarm, IsEmpty());
}

TEST(Events, RefusesLabelsOutsideTheSeries) {
  EXPECT_FALSE(ReportEvents(Mask(9, 0), std::vector<Interval>{{3, 9}}).ok());
}

TEST(Events, TheDetectorsThresholdIsExceededNotReached) {
  const std::vector<float> scores = {1, 2, 3};

  EXPECT_THAT(AlarmsOf(scores, 2), ElementsAre(0, 0, 1));
}

TEST(Budget, ThresholdIsWhereOneFalseEventTooManyWouldAppear) {
  // 100 instants, 10 labelled: one false event is 111 per 10,000.
  std::vector<float> scores(100, 0.0F);
  scores[10] = 9;
  scores[50] = 8;  // labelled
  scores[90] = 7;
  const std::vector<Interval> labels = {{45, 54}};

  EXPECT_EQ(ThresholdForBudget(scores, labels, 0).value(), 9);
  EXPECT_EQ(ThresholdForBudget(scores, labels, 112).value(), 7);
}

TEST(Budget, ComesFromTheTopBecauseLowAlarmsRunTogether) {
  // Alarms every 30 instants at level 2; at level 1 everything alarms, which
  // is one event that touches the label: no false one.
  std::vector<float> scores(1000, 1.0F);
  for (int t = 0; t < 1000; t += 30) scores[t] = 2;
  const std::vector<Interval> labels = {{500, 505}};

  EXPECT_EQ(ThresholdForBudget(scores, labels, 20).value(), 2);
}

TEST(Budget, IsUnboundedWhenNothingBreaksIt) {
  const std::vector<float> scores = {1, 2, 3, 4};
  const std::vector<Interval> labels = {{3, 3}};

  EXPECT_EQ(ThresholdForBudget(scores, labels, 10000).value(),
            -std::numeric_limits<float>::infinity());
  EXPECT_FALSE(ThresholdForBudget(scores, labels, -1).ok());
  EXPECT_FALSE(ThresholdForBudget(scores, labels, std::nan("")).ok());
}

// The definition, slowly: the first level from the top at which the events
// counted afresh exceed the budget.
float PlainThreshold(const std::vector<float>& scores,
                     const std::vector<Interval>& labels, double budget,
                     int distance) {
  std::vector<float> levels = scores;
  std::ranges::sort(levels, std::greater<>());
  for (float level : levels) {
    Mask alarms(scores.size());
    for (size_t t = 0; t < scores.size(); ++t) alarms[t] = scores[t] >= level;
    const auto report = ReportEvents(alarms, labels, distance);
    if (report->false_alarms_per_10k > budget + 1e-9) return level;
  }
  return -std::numeric_limits<float>::infinity();
}

TEST(Budget, EqualsCountingAfreshAtEveryLevel) {
  Random random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<float> scores(static_cast<size_t>(50 + random.Below(150)));
    for (float& score : scores) {
      score = round % 2 == 0 ? static_cast<float>(random.Below(12))
                             : static_cast<float>(random.Normal());
    }
    const int length = static_cast<int>(scores.size());
    std::vector<Interval> labels;
    for (int i = 0; i < 3; ++i) {
      const int first = static_cast<int>(random.Below(length - 10));
      labels.push_back({first, first + static_cast<int>(random.Below(10))});
    }
    const double budget = 50.0 * static_cast<double>(random.Below(20));
    const int distance = 1 + static_cast<int>(random.Below(12));

    EXPECT_EQ(ThresholdForBudget(scores, labels, budget, distance).value(),
              PlainThreshold(scores, labels, budget, distance))
        << round;
  }
}

}  // namespace
}  // namespace telltale::model
