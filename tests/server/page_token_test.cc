#include "server/rpc/page_token.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace telltale::server {
namespace {

ScoreQuery Listing() {
  ScoreQuery query;
  query.key = {.tenant = "default", .stream = "craft"};
  query.start_time_ns = -5;
  return query;
}

TEST(PageToken, LeadsBackToItsCursor) {
  const ScoreCursor cursor{.time_ns = std::numeric_limits<int64_t>::min(),
                           .epoch = 3,
                           .sequence = 1'000'000'000'000};

  const auto parsed =
      ParsePageToken(MakePageToken(Listing(), cursor), Listing());

  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->time_ns, cursor.time_ns);
  EXPECT_EQ(parsed->epoch, cursor.epoch);
  EXPECT_EQ(parsed->sequence, cursor.sequence);
}

TEST(PageToken, IsRefusedInAnotherListing) {
  const std::string token = MakePageToken(Listing(), {1, 2, 3});
  ScoreQuery other_stream = Listing();
  other_stream.key.stream = "other";
  ScoreQuery other_time = Listing();
  other_time.start_time_ns.reset();
  ScoreQuery other_score = Listing();
  other_score.min_score = 0;
  ScoreQuery other_size = Listing();
  other_size.limit = 7;

  EXPECT_FALSE(ParsePageToken(token, other_stream).ok());
  EXPECT_FALSE(ParsePageToken(token, other_time).ok());
  EXPECT_FALSE(ParsePageToken(token, other_score).ok());
  EXPECT_TRUE(ParsePageToken(token, other_size).ok());
}

TEST(PageToken, IsRefusedWithAnyOfItsCharactersChanged) {
  const std::string token = MakePageToken(Listing(), {1, 2, 3});

  for (size_t i = 0; i < token.size(); ++i) {
    for (const char c : {'0', '7', 'f', 'g', ' ', '\0', '-'}) {
      std::string changed = token;
      if (changed[i] == c) continue;
      changed[i] = c;
      EXPECT_TRUE(
          absl::IsInvalidArgument(ParsePageToken(changed, Listing()).status()));
    }
  }
  for (const char* text : {"", "0", "next", "%s%s%s"}) {
    EXPECT_FALSE(ParsePageToken(text, Listing()).ok());
  }
}

}  // namespace
}  // namespace telltale::server
