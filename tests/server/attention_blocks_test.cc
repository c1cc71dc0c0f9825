#include "server/rpc/attention_blocks.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace telltale::server {
namespace {

using ::testing::ElementsAre;

// Each weight tells its layer, head, query and key.
model::AttentionRows Rows(int layer, int heads, int queries, int keys) {
  model::AttentionRows rows{.layer = layer,
                            .head_count = heads,
                            .query_time_ns = {},
                            .key_time_ns = {},
                            .weights = {},
                            .nothing = {}};
  for (int q = 0; q < queries; ++q) rows.query_time_ns.push_back(100 + q);
  for (int k = 0; k < keys; ++k) rows.key_time_ns.push_back(k);
  for (int head = 0; head < heads; ++head) {
    for (int q = 0; q < queries; ++q) {
      rows.nothing.push_back(static_cast<float>(-q));
      for (int k = 0; k < keys; ++k) {
        rows.weights.push_back(
            static_cast<float>(layer * 1000 + head * 100 + q * 10 + k));
      }
    }
  }
  return rows;
}

TEST(AttentionBlocks, ComeByLayerHeadAndTime) {
  std::vector<model::AttentionRows> layers;
  layers.push_back(Rows(0, 2, 2, 3));
  layers.push_back(Rows(1, 1, 0, 0));  // a window of nothing new
  layers.push_back(Rows(2, 1, 1, 1));
  AttentionBlocks blocks(std::move(layers), nullptr);
  ::telltale::v1::AttentionRows block;

  ASSERT_TRUE(blocks.Next(block));
  EXPECT_EQ(block.head(), 0);
  EXPECT_THAT(block.query_time_ns(), ElementsAre(100, 101));
  EXPECT_THAT(block.key_time_ns(), ElementsAre(0, 1, 2));
  EXPECT_THAT(block.weights(), ElementsAre(0, 1, 2, 10, 11, 12));
  EXPECT_THAT(block.nothing(), ElementsAre(0, -1));
  ASSERT_TRUE(blocks.Next(block));
  EXPECT_EQ(block.head(), 1);
  EXPECT_THAT(block.weights(), ElementsAre(100, 101, 102, 110, 111, 112));
  ASSERT_TRUE(blocks.Next(block));
  EXPECT_EQ(block.layer(), 2);
  EXPECT_THAT(block.weights(), ElementsAre(2000));
  EXPECT_FALSE(blocks.Next(block));
  EXPECT_FALSE(blocks.Next(block));
}

TEST(AttentionBlocks, CutAMatrixBetweenRows) {
  std::vector<model::AttentionRows> layers;
  layers.push_back(Rows(0, 1, 5, 30'000));  // two rows are 240,000 bytes
  AttentionBlocks blocks(std::move(layers), nullptr);
  ::telltale::v1::AttentionRows block;

  std::vector<int> queries;
  std::vector<int64_t> times;
  while (blocks.Next(block)) {
    queries.push_back(block.query_time_ns_size());
    EXPECT_EQ(block.weights_size(), block.query_time_ns_size() * 30'000);
    EXPECT_EQ(block.weights(0),
              static_cast<float>((block.query_time_ns(0) - 100) * 10));
    for (const int64_t time : block.query_time_ns()) times.push_back(time);
  }

  EXPECT_THAT(queries, ElementsAre(2, 2, 1));
  EXPECT_THAT(times, ElementsAre(100, 101, 102, 103, 104));
}

TEST(AttentionBlocks, GiveTheirShareBackWithTheLastOne) {
  AttentionBudget budget(1 << 20);
  model::ModelDescription model;
  model.layer_count = 1;
  model.head_count = 1;
  std::vector<model::AttentionRows> layers;
  layers.push_back(Rows(0, 1, 1, 1));
  AttentionBlocks blocks(std::move(layers), budget.Reserve(model, 1).value());
  ::telltale::v1::AttentionRows block;

  ASSERT_TRUE(blocks.Next(block));
  EXPECT_GT(budget.reserved(), 0);
  ASSERT_FALSE(blocks.Next(block));
  EXPECT_EQ(budget.reserved(), 0);
}

}  // namespace
}  // namespace telltale::server
