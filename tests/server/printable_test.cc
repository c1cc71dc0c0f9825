#include "server/printable.h"

#include <string>

#include <gtest/gtest.h>

namespace telltale::server {
namespace {

TEST(Printable, LeavesTextAsItIs) {
  EXPECT_EQ(Printable(""), "");
  EXPECT_EQ(Printable("pump_speed [1/min]"), "pump_speed [1/min]");
  EXPECT_EQ(Printable("Düse 温度 🚀"), "Düse 温度 🚀");
}

TEST(Printable, EscapesWhatWouldBreakALineOrATerminal) {
  EXPECT_EQ(Printable("a\nb\r\t"), "a\\nb\\r\\t");
  EXPECT_EQ(Printable("\x1B[2J\x7F"), "\\x1b[2J\\x7f");
  EXPECT_EQ(Printable(std::string("\0", 1)), "\\x00");
  EXPECT_EQ(Printable("\xC2\x9B"), "\\xc2\\x9b");  // a C1 control
}

TEST(Printable, EscapesWhatIsNoUtf8) {
  EXPECT_EQ(Printable("\xFF"), "\\xff");
  EXPECT_EQ(Printable("a\xC3"), "a\\xc3");
  EXPECT_EQ(Printable("\xC3("), "\\xc3(");
  EXPECT_EQ(Printable("\xC0\xAF"), "\\xc0\\xaf");
  EXPECT_EQ(Printable("\xED\xA0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(Printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(Printable("abcd", 4), "abcd");
  EXPECT_EQ(Printable("abcde", 4), "abcd...");
  EXPECT_EQ(Printable("abcü", 4), "abc...");
  EXPECT_EQ(Printable("abc\n", 4), "abc...");
  EXPECT_EQ(Printable(std::string(10'000, 'x')).size(), kShownBytes + 3);
}

}  // namespace
}  // namespace telltale::server
