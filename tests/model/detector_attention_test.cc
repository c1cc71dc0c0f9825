// What a detector shows of its attention.

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/detector.h"
#include "tests/support/plant.h"
#include "tests/support/plant_detector.h"

namespace telltale::model {
namespace {

// The attention over a window at the end of `before` instants of a stream.
std::vector<AttentionRows> AttentionAfter(const data::Series& series,
                                          int before, int count) {
  const Detector& detector = PlantDetector();
  const auto state = detector.NewStream();
  Advance(detector, *state, series, 0, before);
  const data::Window window = series.Slice(before, before + count).value();
  const StreamWindow work = {state.get(), &window, true};
  return detector.Advance({&work, 1}).value().front().attention;
}

TEST(Detector, GivesEveryLayersAttentionWhenAsked) {
  const data::Series series = PlantSeries(62, 300);
  const auto attention = AttentionAfter(series, 150, 40);

  ASSERT_EQ(attention.size(), 2);
  const size_t first_keys[] = {150 - 16 + 1, 150 - 64 + 1};
  for (size_t layer = 0; layer < 2; ++layer) {
    const AttentionRows& rows = attention[layer];
    EXPECT_EQ(rows.layer, layer);
    EXPECT_EQ(rows.head_count, 2);
    ASSERT_EQ(rows.query_time_ns.size(), 40);
    const size_t first_key = first_keys[layer];
    ASSERT_EQ(rows.key_time_ns.size(), 190 - first_key);
    for (size_t q = 0; q < 40; ++q) {
      EXPECT_EQ(rows.query_time_ns[q], series.time_ns[150 + q]);
    }
    for (size_t k = 0; k < rows.key_time_ns.size(); ++k) {
      EXPECT_EQ(rows.key_time_ns[k], series.time_ns[first_key + k]);
    }
    EXPECT_EQ(rows.weights.size(), size_t{2} * 40 * rows.key_time_ns.size());
    EXPECT_EQ(rows.nothing.size(), 2UL * 40);
  }
}

// Row `row` of the weights, of query `q`: sums to one with `nothing`, lies on
// no later instant, and on no more than `reach` of them.
void CheckRow(const AttentionRows& rows, size_t row, size_t q, int reach) {
  const size_t keys = rows.key_time_ns.size();
  double sum = rows.nothing[row];
  int seen = 0;
  for (size_t k = 0; k < keys; ++k) {
    const float weight = rows.weights[row * keys + k];
    ASSERT_GE(weight, 0);
    sum += weight;
    seen += weight > 0 ? 1 : 0;
    const bool later = rows.key_time_ns[k] > rows.query_time_ns[q];
    ASSERT_TRUE(!later || weight == 0) << "on a later instant";
  }
  EXPECT_NEAR(sum, 1, 1e-5);
  EXPECT_LE(seen, reach);
}

TEST(Detector, AttentionOfEachQuerySumsToOneAndNoneIsOnLaterInstants) {
  for (const int before : {0, 3, 40, 150}) {
    const auto attention = AttentionAfter(EventfulSeries(7, 320), before, 50);
    for (const AttentionRows& rows : attention) {
      const size_t queries = rows.query_time_ns.size();
      for (size_t row = 0; row < 2 * queries; ++row) {
        CheckRow(rows, row, row % queries, rows.layer == 0 ? 16 : 64);
      }
    }
  }
}

TEST(Detector, BlindHeadsDoNotSeeTheLatestInstants) {
  const auto attention = AttentionAfter(PlantSeries(62, 300), 150, 20);
  const AttentionRows& rows = attention[1];  // head 0 is blind for 8 instants
  const size_t keys = rows.key_time_ns.size();
  for (size_t q = 0; q < 20; ++q) {
    const size_t own = keys - 20 + q;
    for (size_t k = own - 7; k <= own; ++k) {
      EXPECT_EQ(rows.weights[q * keys + k], 0);
    }
    EXPECT_GT(rows.weights[q * keys + own - 8], 0);
    EXPECT_GT(rows.weights[(20 + q) * keys + own], 0);  // head 1 sees itself
  }
}

// That the only query of `one` has the weights that query `q` of `all` has.
void ExpectSameRows(const AttentionRows& one, const AttentionRows& all,
                    size_t q) {
  ASSERT_EQ(one.query_time_ns[0], all.query_time_ns[q]);
  const size_t keys = one.key_time_ns.size();
  const auto offset = static_cast<size_t>(
      std::ranges::find(all.key_time_ns, one.key_time_ns.front()) -
      all.key_time_ns.begin());
  for (size_t head = 0; head < 2; ++head) {
    const size_t row = head * all.query_time_ns.size() + q;
    for (size_t k = 0; k < keys; ++k) {
      ASSERT_EQ(one.weights[head * keys + k],
                all.weights[row * all.key_time_ns.size() + offset + k]);
    }
  }
}

TEST(Detector, AttentionDoesNotDependOnTheSplitEither) {
  const data::Series series = EventfulSeries(7, 320);
  const auto whole = AttentionAfter(series, 180, 30);
  const Detector& detector = PlantDetector();
  const auto state = detector.NewStream();
  Advance(detector, *state, series, 0, 180, 1);
  size_t q = 0;
  for (int t = 180; t < 210; ++t) {
    const data::Window window = series.Slice(t, t + 1).value();
    const StreamWindow work = {state.get(), &window, true};
    const auto attention =
        detector.Advance({&work, 1}).value().front().attention;
    if (attention[1].query_time_ns.empty()) continue;  // not a sample there
    for (size_t layer = 0; layer < 2; ++layer) {
      ExpectSameRows(attention[layer], whole[layer], q);
    }
    ++q;
  }
  EXPECT_EQ(q, whole[0].query_time_ns.size());
}

TEST(Detector, ReturnsNoAttentionUnasked) {
  const data::Series series = PlantSeries(62, 20);
  const auto state = PlantDetector().NewStream();
  const data::Window window = series.Slice(0, 20).value();
  const StreamWindow work = {state.get(), &window, false};

  const auto results = PlantDetector().Advance({&work, 1}).value();

  EXPECT_TRUE(results.front().attention.empty());
}

}  // namespace
}  // namespace telltale::model
