#include "server/cli/channel_notes.h"

#include <vector>

#include "absl/strings/str_format.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace telltale::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

data::ChannelSet Channels(int count) {
  std::vector<data::Channel> list(static_cast<size_t>(count));
  for (int c = 0; c < count; ++c) {
    list[static_cast<size_t>(c)].name = absl::StrFormat("c%d", c);
  }
  return data::ChannelSet::Create(list).value();
}

data::ChannelSummary Between(float lowest, float highest) {
  return {.samples = 100, .missing = 0, .lowest = lowest, .highest = highest};
}

TEST(ChannelNotes, SayNothingOfChannelsThatMove) {
  EXPECT_THAT(
      ChannelNotes(Channels(3), std::vector{Between(-1, 1), Between(0, 1e-9F),
                                            Between(1e6F, 1.0001e6F)}),
      IsEmpty());
}

TEST(ChannelNotes, NameChannelsThatAreAbsentOrStillOrTooFarFromZero) {
  const auto notes = ChannelNotes(
      Channels(4),
      std::vector{data::ChannelSummary{.missing = 9}, Between(7, 7),
                  Between(-1e9F, -1e9F), Between(1e6F, 1e6F + 1)});

  EXPECT_THAT(notes, ElementsAre(EndsWith("never judged: c0"),
                                 EndsWith("any change is an anomaly: c1"),
                                 AllOf(HasSubstr("subtract an offset"),
                                       EndsWith("scored: c2, c3"))));
}

TEST(ChannelNotes, CountWhatWouldBeTooManyNames) {
  EXPECT_THAT(
      ChannelNotes(Channels(200), std::vector(200, Between(4, 4))),
      ElementsAre(EndsWith("c0, c1, c2, c3, c4, c5, c6, c7 and 192 more")));
}

}  // namespace
}  // namespace telltale::server
