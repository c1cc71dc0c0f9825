#include "server/observability/log.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace telltale::server {
namespace {

TEST(Log, WritesOneJsonObjectALine) {
  ::testing::internal::CaptureStderr();
  Log log;
  log.Info("opened", {{"stream", "craft\"7\"\n{}"},
                      {"count", 3},
                      {"share", 0.5},
                      {"live", true}});
  const std::string line = ::testing::internal::GetCapturedStderr();

  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["event"], "opened");
  EXPECT_EQ(json["level"], "info");
  EXPECT_EQ(json["stream"], "craft\"7\"\n{}");
  EXPECT_EQ(json["count"], 3);
  EXPECT_EQ(json["share"], 0.5);
  EXPECT_EQ(json["live"], true);
}

TEST(Log, LeavesOutWhatIsBelowItsLevel) {
  ::testing::internal::CaptureStderr();
  Log log(Log::Level::kWarning);
  log.Info("opened");
  log.Warning("slow");

  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::AllOf(::testing::HasSubstr("slow"),
                               ::testing::Not(::testing::HasSubstr("opened"))));
}

TEST(Log, EscapesEverythingBeyondAsciiAndCutsLongText) {
  EXPECT_EQ(JsonString("a\x1b[31m\xE2\x80\xAE"),
            "\"a\\u001b[31m\\u00e2\\u0080\\u00ae\"");
  EXPECT_EQ(JsonString(std::string(1000, 'x')).size(), 258U);
}

}  // namespace
}  // namespace telltale::server
