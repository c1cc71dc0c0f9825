#include "server/cli/false_alarm_budget.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace telltale::server {
namespace {

using ::testing::HasSubstr;

TEST(FalseAlarmBudget, CountsInstantsAsGiven) {
  const auto budget = FalseAlarmBudget::Parse("2.5/10000");

  ASSERT_TRUE(budget.ok());
  EXPECT_DOUBLE_EQ(budget->Per10k(1), 2.5);
}

TEST(FalseAlarmBudget, ConvertsDaysByTheCadence) {
  const auto budget = FalseAlarmBudget::Parse("2/day");

  ASSERT_TRUE(budget.ok());
  // A day has 8,640 instants of 10 s.
  EXPECT_DOUBLE_EQ(budget->Per10k(10'000'000'000), 2.0 * 10'000 / 8'640);
}

TEST(FalseAlarmBudget, RefusesWhatIsNoBudget) {
  for (const char* text : {"", "5", "/", "/day", "five/day", "5/week", "5/1000",
                           "0/day", "-1/10000", "nan/day", "inf/10000",
                           "5/day/day", "5 /day", "1e9/10000"}) {
    const auto budget = FalseAlarmBudget::Parse(text);
    EXPECT_EQ(budget.status().code(), absl::StatusCode::kInvalidArgument)
        << text;
    EXPECT_THAT(std::string(budget.status().message()),
                HasSubstr(std::string("'") + text + "'"));
  }
}

}  // namespace
}  // namespace telltale::server
