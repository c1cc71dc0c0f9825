#include "model/evaluation/affiliation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"

#include "model/random.h"

namespace telltale::model {
namespace {

TEST(Affiliation, OfExactAlarmsIsOne) {
  const std::vector<Interval> labels = {{10, 14}, {60, 79}};

  const auto result = ComputeAffiliation(MaskOf(labels, 100), labels);

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NEAR(result->precision, 1, 1e-12);
  EXPECT_NEAR(result->recall, 1, 1e-12);
  EXPECT_NEAR(result->f1, 1, 1e-12);
}

TEST(Affiliation, IsThatOfTheWorkedExample) {
  // One zone [0, 10), label [4, 6), alarm [7, 8).
  const std::vector<Interval> labels = {{4, 5}};
  const std::vector<Interval> alarms = {{7, 7}};

  const auto result = ComputeAffiliation(MaskOf(alarms, 10), labels);

  // Precision: the distance runs from 1 to 2; (4 - d) + (4 - d) of 10 instants
  // lie further away; the mean of (8 - 2 d) / 10 is .5.
  // Recall: from y in [4, 6) the alarm is d = 7 - y away. Nearer than y - d =
  // 2 y - 7 lie 0 (below y = 3.5), further than y + d = 7 lie 3; the mean of
  // (2 y - 7 + 3) / 10 over [4, 6) is .6.
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NEAR(result->precision, 0.5, 1e-12);
  EXPECT_NEAR(result->recall, 0.6, 1e-12);
  EXPECT_NEAR(result->f1, 2 * 0.5 * 0.6 / 1.1, 1e-12);
}

TEST(Affiliation, LabelsWithoutAlarmsCostRecallOnly) {
  const std::vector<Interval> labels = {{10, 14}, {60, 79}};
  const std::vector<Interval> alarms = {{10, 14}};

  const auto result = ComputeAffiliation(MaskOf(alarms, 100), labels);

  EXPECT_NEAR(result->precision, 1, 1e-12);
  EXPECT_NEAR(result->recall, 0.5, 1e-12);
}

TEST(Affiliation, WithoutAlarmsIsZeroAndWithoutLabelsAnError) {
  const Mask silent(50, 0);

  EXPECT_EQ(ComputeAffiliation(silent, std::vector<Interval>{{3, 4}})->f1, 0);
  EXPECT_FALSE(ComputeAffiliation(silent, {}).ok());
  EXPECT_FALSE(ComputeAffiliation(silent, std::vector<Interval>{{3, 50}}).ok());
}

// The definition as sums over fine steps of time: for every moment of an alarm
// (of a label) the share of its zone that lies further away.
class PlainAffiliation {
 public:
  PlainAffiliation(const Mask& alarms, const std::vector<Interval>& labels)
      : alarms_(alarms), labels_(labels) {}

  Affiliation Compute() const {
    Affiliation result;
    int zones = 0;
    for (size_t i = 0; i < labels_.size(); ++i) {
      const double begin = i == 0 ? 0 : Middle(i - 1);
      const double end = i + 1 == labels_.size()
                             ? static_cast<double>(alarms_.size())
                             : Middle(i);
      AddZone(begin, end, labels_[i], result, zones);
    }
    if (zones > 0) result.precision /= zones;
    result.recall /= static_cast<double>(labels_.size());
    return result;
  }

 private:
  static constexpr int kSteps = 8;  // a unit of time

  double Middle(size_t i) const {
    return (labels_[i].last + 1 + labels_[i + 1].first) / 2.0;
  }

  static double DistanceToLabel(double x, const Interval& label) {
    return std::max({label.first - x, x - (label.last + 1), 0.0});
  }

  void AddZone(double begin, double end, const Interval& label,
               Affiliation& result, int& zones) const {
    std::vector<double> moments;
    const int count = static_cast<int>((end - begin) * kSteps);
    moments.reserve(static_cast<size_t>(count));
    for (int k = 0; k < count; ++k) {
      moments.push_back(begin + (k + 0.5) / kSteps);
    }
    std::vector<double> alarmed;
    for (double x : moments) {
      if (alarms_[static_cast<size_t>(x)] != 0) alarmed.push_back(x);
    }
    if (alarmed.empty()) return;
    ++zones;
    double precision = 0;
    for (double x : alarmed) {
      const double distance = DistanceToLabel(x, label);
      precision += ShareOf(moments, [&](double z) {
        return Weight(DistanceToLabel(z, label), distance);
      });
    }
    result.precision += precision / static_cast<double>(alarmed.size());
    double recall = 0;
    double labelled = 0;
    for (double y : moments) {
      if (DistanceToLabel(y, label) > 0) continue;
      labelled += 1;
      double nearest = 1e9;
      for (double x : alarmed) nearest = std::min(nearest, std::abs(x - y));
      recall += ShareOf(
          moments, [&](double z) { return Weight(std::abs(z - y), nearest); });
    }
    result.recall += recall / labelled;
  }

  // Whether one distance is at least the other. Outside the label, half when
  // equal: the moment lies in the middle of its step.
  static double Weight(double distance, double threshold) {
    if (threshold == 0) return 1;
    if (std::abs(distance - threshold) < 1e-9) return 0.5;
    return distance > threshold ? 1 : 0;
  }

  template <typename Function>
  static double ShareOf(const std::vector<double>& moments,
                        const Function& weight) {
    double sum = 0;
    for (double z : moments) sum += weight(z);
    return sum / static_cast<double>(moments.size());
  }

  const Mask& alarms_;
  const std::vector<Interval>& labels_;
};

TEST(Affiliation, EqualsTheDefinitionInFineSteps) {
  Random random(5);
  for (int round = 0; round < 60; ++round) {
    const int length = 40 + static_cast<int>(random.Below(40));
    Mask labelled(static_cast<size_t>(length), 0);
    Mask alarms(static_cast<size_t>(length), 0);
    for (int t = 0; t < length; ++t) {
      labelled[t] = random.Uniform() < 0.1 ||
                    (t > 0 && labelled[t - 1] != 0 && random.Uniform() < 0.6);
      alarms[t] = random.Uniform() < 0.08;
    }
    labelled[3] = 1;
    const std::vector<Interval> labels = IntervalsOf(labelled);

    const auto found = ComputeAffiliation(alarms, labels);
    const Affiliation expected = PlainAffiliation(alarms, labels).Compute();

    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_NEAR(found->precision, expected.precision, 0.02) << round;
    EXPECT_NEAR(found->recall, expected.recall, 0.02) << round;
  }
}

}  // namespace
}  // namespace telltale::model
