#include "model/evaluation/vus.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <stdlib.h>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "model/evaluation/ranking.h"
#include "model/random.h"

namespace telltale::model {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::vector<float> scores;
  std::vector<Interval> labels;
  int buffer = 0;
};

std::vector<float> RandomScores(int length, int levels, Random& random) {
  std::vector<float> scores(static_cast<size_t>(length));
  for (float& score : scores) {
    // Few levels mean many ties.
    score = levels > 0 ? static_cast<float>(random.Below(levels))
                       : static_cast<float>(random.Normal());
  }
  return scores;
}

// Short and long series, labels at the borders and close together, ties, and
// instants without a score.
std::vector<Case> Cases() {
  Random random(7);
  std::vector<Case> cases;
  for (int round = 0; round < 40; ++round) {
    const int length =
        5 + static_cast<int>(random.Below(round < 20 ? 60 : 900));
    Case one;
    one.scores = RandomScores(length, round % 3 == 0 ? 4 : 0, random);
    const int label_count = 1 + static_cast<int>(random.Below(4));
    for (int i = 0; i < label_count; ++i) {
      const int first = static_cast<int>(random.Below(length - 1));
      const int longest = std::max(1, length / 6);
      one.labels.push_back(
          {first, std::min(length - 2 + round % 2,
                           first + static_cast<int>(random.Below(longest)))});
    }
    if (round % 5 == 0) one.labels.front() = {0, 1};
    if (round % 5 == 1) one.labels.front() = {length - 2, length - 1};
    one.buffer = static_cast<int>(random.Below(length / 2 + 2));
    if (round % 4 == 2) {
      std::fill_n(one.scores.begin(), length / 4, std::ranges::min(one.scores));
    }
    cases.push_back(one);
  }
  return cases;
}

TEST(Vus, IsTheAreaUnderBothCurvesWithoutABuffer) {
  // With fewer instants than thresholds every score is a threshold. The curve
  // counts an interval's existence: of two labels the second is flagged last.
  const std::vector<float> scores = {0.9F, 0.1F, 0.2F, 0.8F, 0.3F};
  const std::vector<Interval> labels = {{0, 0}, {3, 3}};

  const auto vus = ComputeVus(scores, labels, 0);

  // Recall x existence: 1/2 x 1/2 at .9, then 1 at .8; precision 1 at both.
  ASSERT_TRUE(vus.ok()) << vus.status();
  EXPECT_NEAR(vus->pr, 1, 1e-12);
  EXPECT_NEAR(vus->roc, 1, 1e-12);
}

TEST(Vus, PaysByRampForAlarmsBesideTheLabel) {
  // One flag, one instant after the only label, of 4 instants; buffer 2.
  const std::vector<float> scores = {0, 0, 0, 1};
  const std::vector<Interval> labels = {{2, 2}};

  const auto vus = ComputeVus(scores, labels, 2);

  // Widths 0 and 1 have no ramp: nothing at the first flag, then precision 1/4
  // for the one label. Width 2: the ramps at 1 and 3 are r = sqrt(1/2) high.
  // First flag: TP r, positives 1 + r/2, the extended interval is flagged:
  // recall r / (1 + r/2), precision r. All flagged: TP 1 + 2r > positives
  // 1 + r, recall 1, precision (1 + 2r) / 4.
  const double r = std::sqrt(0.5);
  const double recall = r / (1 + r / 2);
  const double ramped = recall * r + (1 - recall) * (1 + 2 * r) / 4;
  ASSERT_TRUE(vus.ok()) << vus.status();
  EXPECT_NEAR(vus->pr, (0.25 + 0.25 + ramped) / 3, 1e-12);
}

TEST(Vus, DependsOnTheOrderOfScoresOnly) {
  for (const Case& one : Cases()) {
    std::vector<float> moved = one.scores;
    for (float& score : moved) score = 3 * score + 100;

    const auto vus = ComputeVus(one.scores, one.labels, one.buffer);
    const auto after = ComputeVus(moved, one.labels, one.buffer);

    ASSERT_TRUE(vus.ok() && after.ok());
    // Tripling may round two scores into one; it does not for these.
    EXPECT_NEAR(vus->pr, after->pr, 1e-4);
    EXPECT_GE(vus->pr, 0);
    EXPECT_LE(vus->pr, 1 + 1e-12);
  }
}

TEST(Vus, OfScoresThatKnowNothingIsTheShareOfLabels) {
  Random random(1);
  const std::vector<float> scores = RandomScores(20000, 0, random);
  const std::vector<Interval> labels = {{1000, 1499}, {9000, 9499}};

  const auto vus = ComputeVus(scores, labels, 0);

  ASSERT_TRUE(vus.ok());
  EXPECT_NEAR(vus->pr, 0.05, 0.01);
  EXPECT_NEAR(vus->roc, 0.5, 0.03);
}

TEST(Vus, TakesMinusInfinityForTheLowest) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const std::vector<float> none = {kLowest, kLowest, 1, 5, 2, 1};
  const std::vector<float> low = {-9, -9, 1, 5, 2, 1};
  const std::vector<Interval> labels = {{3, 4}};

  EXPECT_EQ(ComputeVus(none, labels, 2)->pr, ComputeVus(low, labels, 2)->pr);
}

TEST(Vus, RefusesWhatCannotBeRanked) {
  const std::vector<float> scores = {1, 2, 3};
  const std::vector<float> nan = {1, std::nanf(""), 3};
  const std::vector<Interval> one = {{1, 1}};
  const std::vector<Interval> all = {{0, 2}};
  const std::vector<Interval> outside = {{1, 3}};
  const std::vector<Interval> reversed = {{2, 1}};

  EXPECT_THAT(ComputeVus(nan, one, 1).status().message(),
              HasSubstr("instant 1 is not a number"));
  EXPECT_THAT(ComputeVus(scores, {}, 1).status().message(),
              HasSubstr("cover 0 of 3"));
  EXPECT_THAT(ComputeVus(scores, all, 1).status().message(),
              HasSubstr("cover 3 of 3"));
  EXPECT_THAT(ComputeVus(scores, outside, 1).status().message(),
              HasSubstr("[1, 3]"));
  EXPECT_FALSE(ComputeVus(scores, reversed, 1).ok());
  EXPECT_FALSE(ComputeVus(scores, one, -1).ok());
}

// What the reference metric, a Python module with a function
// vus(labels, scores, buffer) -> (ROC, PR), says of all cases.
std::vector<Vus> Reference(const std::string& module_path,
                           const std::vector<Case>& cases) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "vus_test.XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return {};
  const std::filesystem::path input = std::filesystem::path(folder) / "cases";
  std::ofstream file(input);
  for (const Case& one : cases) {
    const int length = static_cast<int>(one.scores.size());
    for (float score : one.scores) file << absl::StrFormat("%.9g ", score);
    file << "\n";
    for (uint8_t label : MaskOf(one.labels, length)) file << int{label} << " ";
    file << "\n" << one.buffer << "\n";
  }
  file.close();
  const std::string program = absl::StrFormat(
      "import numpy, runpy\n"
      "vus = runpy.run_path('%s')['vus']\n"
      "lines = open('%s').read().splitlines()\n"
      "for s, y, w in zip(lines[::3], lines[1::3], lines[2::3]):\n"
      "  s, y = (numpy.array(x.split(), dtype=float) for x in (s, y))\n"
      "  print('%%.15g %%.15g' %% vus(y, s, int(w)))\n",
      module_path, input.string());
  const std::string command = "/usr/bin/python3 -B -c \"" + program + "\"";
  std::vector<Vus> results;
  const std::unique_ptr<FILE, int (*)(FILE*)> output(
      ::popen(command.c_str(), "r"), ::pclose);
  std::array<char, 128> line = {};
  while (std::fgets(line.data(), line.size(), output.get()) != nullptr) {
    Vus vus;
    if (std::sscanf(line.data(), "%lf %lf", &vus.roc, &vus.pr) == 2) {
      results.push_back(vus);
    }
  }
  std::filesystem::remove_all(folder);
  return results;
}

TEST(Vus, EqualsTheReferenceMetric) {
  const char* module_path =
      std::getenv(  // NOLINT(concurrency-mt-unsafe): one thread
          "TELLTALE_REFERENCE_METRIC");
  if (module_path == nullptr) {
    GTEST_SKIP() << "TELLTALE_REFERENCE_METRIC does not name the reference "
                    "implementation of VUS (a Python file)";
  }
  std::vector<Case> cases = Cases();
  Random random(3);
  cases.push_back({RandomScores(8000, 0, random),
                   {{100, 180}, {2000, 2400}, {2500, 2510}, {7990, 7999}},
                   300});

  const std::vector<Vus> expected = Reference(module_path, cases);

  ASSERT_EQ(expected.size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto found =
        ComputeVus(cases[i].scores, cases[i].labels, cases[i].buffer);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_NEAR(found->pr, expected[i].pr, 1e-9) << i;
    EXPECT_NEAR(found->roc, expected[i].roc, 1e-9) << i;
  }
}

TEST(Ranking, IsThatOfTheWorkedExample) {
  // From the top: hit, miss, a tie of hit and miss, miss.
  const std::vector<float> scores = {4, 3, 2, 2, 1};
  const std::vector<Interval> labels = {{0, 0}, {2, 2}};

  const auto ranking = ComputeRanking(scores, labels);

  // Precision 1 at recall 1/2, then 2/4 at recall 1.
  ASSERT_TRUE(ranking.ok()) << ranking.status();
  EXPECT_NEAR(ranking->auc_pr, 0.5 * 1 + 0.5 * 0.5, 1e-12);
  // Of 6 pairs the first hit wins 3, the second 1 and half a tie.
  EXPECT_NEAR(ranking->auc_roc, 4.5 / 6, 1e-12);
}

TEST(Ranking, OfEqualScoresIsChance) {
  const std::vector<float> scores(10, 1.0F);
  const std::vector<Interval> labels = {{2, 3}};

  const auto ranking = ComputeRanking(scores, labels);

  EXPECT_NEAR(ranking->auc_roc, 0.5, 1e-12);
  EXPECT_NEAR(ranking->auc_pr, 0.2, 1e-12);
}

}  // namespace
}  // namespace telltale::model
