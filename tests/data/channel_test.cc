#include "data/channel.h"

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace telltale::data {
namespace {

using testing::HasSubstr;

Channel Named(std::string name) {
  Channel channel;
  channel.name = std::move(name);
  return channel;
}

void ExpectRefused(std::vector<Channel> channels, const std::string& why) {
  const auto set = ChannelSet::Create(std::move(channels));
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(set.status().message()), HasSubstr(why));
}

TEST(ChannelSet, KeepsTheOrderAndFindsByName) {
  const auto set = ChannelSet::Create({Named("speed"), Named("pressure")});

  ASSERT_TRUE(set.ok());
  EXPECT_EQ(set->size(), 2);
  EXPECT_EQ((*set)[1].name, "pressure");
  EXPECT_EQ(set->Find("pressure"), 1);
  EXPECT_EQ(set->Find("Pressure"), std::nullopt);
}

TEST(ChannelSet, RefusesNoneAndTooMany) {
  ExpectRefused({}, "at least 1");
  std::vector<Channel> many;
  for (int i = 0; i <= ChannelSet::kMaxChannels; ++i) {
    many.push_back(Named(std::to_string(i)));
  }
  ExpectRefused(many, "4097 channels");
  many.pop_back();
  EXPECT_TRUE(ChannelSet::Create(many).ok());
}

TEST(ChannelSet, RefusesEmptyOverlongAndRepeatedNames) {
  ExpectRefused({Named("a"), Named("")}, "channel 1 has an empty name");
  ExpectRefused({Named(std::string(257, 'x'))}, "257 bytes");
  EXPECT_TRUE(ChannelSet::Create({Named(std::string(256, 'x'))}).ok());
  ExpectRefused({Named("a"), Named("b"), Named("a")}, "\"a\" stands twice");
}

TEST(ChannelSet, WantsVocabulariesToRiseAndOnlyAtDiscreteChannels) {
  Channel mode = Named("mode");
  mode.kind = ChannelKind::kDiscrete;
  mode.vocabulary = {{0, "off"}, {2, "on"}};
  EXPECT_TRUE(ChannelSet::Create({mode}).ok());

  Channel falling = mode;
  falling.vocabulary = {{2, "on"}, {2, "again"}};
  ExpectRefused({falling}, "does not rise at entry 1");

  Channel nan = mode;
  nan.vocabulary[1].code = std::numeric_limits<float>::quiet_NaN();
  ExpectRefused({nan}, "does not rise");

  Channel measured = mode;
  measured.kind = ChannelKind::kContinuous;
  ExpectRefused({measured}, "only discrete");
}

TEST(ChannelKind, ReadsBackItsOwnName) {
  for (const ChannelKind kind :
       {ChannelKind::kContinuous, ChannelKind::kDiscrete,
        ChannelKind::kCommand}) {
    const auto parsed = ParseChannelKind(ChannelKindName(kind));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, kind);
  }
  EXPECT_FALSE(ParseChannelKind("Continuous").ok());
}

}  // namespace
}  // namespace telltale::data
