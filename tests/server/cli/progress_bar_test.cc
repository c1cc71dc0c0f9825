#include "server/cli/progress_bar.h"

#include <algorithm>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace telltale::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr ProgressBar::Options kTerminal = {
    .terminal = true, .columns = 50, .period = std::chrono::milliseconds(0)};

TEST(ProgressBar, WritesPlainLinesOfATwentiethWhereThereIsNoTerminal) {
  std::ostringstream out;
  ProgressBar bar(out, {.terminal = false});

  for (int i = 1; i <= 1'000; ++i) bar.Update(i / 1'000.0, "note");
  bar.Finish();

  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 20);
  EXPECT_THAT(text, ::testing::StartsWith("  5 %  note\n 10 %  note\n"));
  EXPECT_THAT(text, EndsWith("100 %  note\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(ProgressBar, SaysNothingPlainlyOfATaskOfUnknownLength) {
  std::ostringstream out;
  ProgressBar bar(out, {.terminal = false});

  bar.Update(std::nullopt, "note");

  EXPECT_EQ(out.str(), "");
}

TEST(ProgressBar, RedrawsOneLineOnATerminal) {
  std::ostringstream out;
  ProgressBar bar(out, kTerminal);

  bar.Update(0.5, "half");
  bar.Update(1, "done");
  EXPECT_THAT(out.str(), Not(HasSubstr("\n")));
  bar.Finish();

  EXPECT_EQ(out.str(),
            "\r[#######.......]  50 %  half\x1b[K"
            "\r[##############] 100 %  done\x1b[K\n");
}

TEST(ProgressBar, NeverWrapsAndNeverOverflows) {
  std::ostringstream out;
  ProgressBar bar(out, kTerminal);

  bar.Update(7.5, std::string(200, 'x'));

  const std::string text = out.str();
  EXPECT_EQ(text.size(), 1 + 49 + 3);  // \r, one column short, erase
}

TEST(ProgressBar, KeepsItsPeriodButNeverSkipsTheEnd) {
  std::ostringstream out;
  ProgressBar bar(
      out, {.terminal = true, .columns = 80, .period = std::chrono::hours(1)});

  bar.Update(0.1, "first");
  bar.Update(0.2, "skipped");
  bar.Update(1, "last");

  EXPECT_THAT(out.str(), HasSubstr("first"));
  EXPECT_THAT(out.str(), Not(HasSubstr("skipped")));
  EXPECT_THAT(out.str(), HasSubstr("last"));
}

}  // namespace
}  // namespace telltale::server
