#include "server/streaming/attention_budget.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace telltale::server {
namespace {

using ::testing::HasSubstr;

// 2 layers of 4 heads, 24 instants of context: the rows of 8 instants take
// 2 x 4 x 8 x (8 + 24) x 4 = 8,192 bytes.
model::ModelDescription Model() {
  model::ModelDescription model;
  model.layer_count = 2;
  model.head_count = 4;
  model.context_length = 24;
  return model;
}

TEST(AttentionBudget, SetsAsideLayersTimesHeadsTimesQueriesTimesKeys) {
  AttentionBudget budget(8'192);

  EXPECT_TRUE(budget.Check(Model(), 8).ok());
  const auto share = budget.Reserve(Model(), 8);

  ASSERT_TRUE(share.ok()) << share.status();
  EXPECT_EQ(budget.reserved(), 8'192);
}

TEST(AttentionBudget, RefusesForNowWhatOthersHoldAndGivesItOutAgain) {
  AttentionBudget budget(3 * 8'192 - 1);
  auto first = budget.Reserve(Model(), 8);
  auto second = budget.Reserve(Model(), 8);
  ASSERT_TRUE(first.ok() && second.ok());

  EXPECT_TRUE(absl::IsResourceExhausted(budget.Reserve(Model(), 8).status()));
  *first = nullptr;
  EXPECT_TRUE(budget.Reserve(Model(), 8).ok());
  *second = nullptr;
  EXPECT_EQ(budget.reserved(), 0);
}

TEST(AttentionBudget, RefusesForGoodWhatIsMoreThanThereEverIs) {
  AttentionBudget budget(1 << 20);

  const absl::Status status = budget.Reserve(Model(), 100'000).status();

  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("100000 instants"), HasSubstr("1.0 MiB")));
  EXPECT_EQ(budget.reserved(), 0);
  // Beyond what 64 bits of bytes can say.
  EXPECT_TRUE(absl::IsInvalidArgument(budget.Check(Model(), int64_t{1} << 40)));
}

}  // namespace
}  // namespace telltale::server
