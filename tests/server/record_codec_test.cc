#include "server/storage/record_codec.h"

#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/channels.h"

namespace telltale::server {
namespace {

using ::testing::ElementsAre;

model::InstantScore Alarm() {
  model::InstantScore score;
  score.time_ns = 42;
  score.contributions = {
      {.channel = 3, .share = 0.75F, .observed = 9.5F, .expected = 12},
      {.channel = 0,
       .share = 0.25F,
       .observed = std::numeric_limits<float>::quiet_NaN(),
       .expected = 1}};
  score.points_back_to = {{.time_ns = -19,
                           .lag = 61,
                           .lag_seconds = 6.1,
                           .weight = 0.5F,
                           .channel = 2}};
  return score;
}

TEST(RecordCodec, EvidenceSurvivesTheRoundTrip) {
  model::InstantScore read;

  ASSERT_TRUE(DecodeEvidence(EncodeEvidence(Alarm()), read).ok());

  ASSERT_EQ(read.contributions.size(), 2U);
  EXPECT_EQ(read.contributions[0].channel, 3);
  EXPECT_EQ(read.contributions[0].share, 0.75F);
  EXPECT_EQ(read.contributions[0].expected, 12);
  EXPECT_TRUE(std::isnan(read.contributions[1].observed));
  ASSERT_EQ(read.points_back_to.size(), 1U);
  EXPECT_EQ(read.points_back_to[0].time_ns, -19);
  EXPECT_EQ(read.points_back_to[0].lag, 61);
  EXPECT_EQ(read.points_back_to[0].lag_seconds, 6.1);
}

TEST(RecordCodec, TheMaskingCheckSurvivesTheRoundTrip) {
  model::InstantScore alarm = Alarm();
  alarm.points_back_to.push_back(alarm.points_back_to.front());
  alarm.points_back_to[0].masking_change = 1.25F;
  model::InstantScore read;
  ASSERT_TRUE(DecodeEvidence(EncodeEvidence(alarm), read).ok());
  EXPECT_FALSE(read.masking.has_value());

  alarm.masking = {.instants = 1, .pointed = 1.5F, .random = 0.25F};
  ASSERT_TRUE(DecodeEvidence(EncodeEvidence(alarm), read).ok());

  ASSERT_TRUE(read.masking.has_value());
  EXPECT_EQ(read.masking->instants, 1);
  EXPECT_EQ(read.masking->pointed, 1.5F);
  EXPECT_EQ(read.masking->random, 0.25F);
  EXPECT_EQ(read.points_back_to[0].masking_change, 1.25F);
  EXPECT_TRUE(std::isnan(read.points_back_to[1].masking_change));
  const std::string bytes = EncodeEvidence(alarm);
  EXPECT_TRUE(absl::IsDataLoss(
      DecodeEvidence(bytes.substr(0, bytes.size() - 1), read)));
  EXPECT_TRUE(absl::IsDataLoss(DecodeEvidence(bytes + '\0', read)));
}

TEST(RecordCodec, EvidenceHoldsAVerdictOnlyWhereThereIsOne) {
  model::InstantScore with = Alarm();
  with.verdict = 0.25F;
  model::InstantScore read;

  ASSERT_TRUE(DecodeEvidence(EncodeEvidence(with), read).ok());
  EXPECT_EQ(read.verdict, 0.25F);
  EXPECT_FALSE(read.masking.has_value());
  with.masking = {.instants = 1, .pointed = 1.5F, .random = 0.5F};
  ASSERT_TRUE(DecodeEvidence(EncodeEvidence(with), read).ok());
  EXPECT_EQ(read.verdict, 0.25F);
  EXPECT_EQ(read.masking->random, 0.5F);
  ASSERT_TRUE(DecodeEvidence(EncodeEvidence(Alarm()), read).ok());
  EXPECT_FALSE(read.verdict.has_value());
}

TEST(RecordCodec, RefusesEvidenceCutAtEveryByte) {
  const std::string bytes = EncodeEvidence(Alarm());

  for (size_t size = 0; size < bytes.size(); ++size) {
    model::InstantScore read;
    EXPECT_TRUE(absl::IsDataLoss(DecodeEvidence(bytes.substr(0, size), read)));
  }
  model::InstantScore read;
  EXPECT_TRUE(absl::IsDataLoss(DecodeEvidence(bytes + '\0', read)));
}

TEST(RecordCodec, AllocatesNothingOnTheWordOfADamagedCount) {
  model::InstantScore read;

  EXPECT_TRUE(absl::IsDataLoss(DecodeEvidence("\xFF\xFF\xFF\x7F", read)));
  EXPECT_TRUE(absl::IsDataLoss(DecodeChannels("\xFF\xFF\xFF\x7F").status()));
}

TEST(RecordCodec, ChannelsSurviveTheRoundTrip) {
  const auto channels =
      data::ChannelSet::Create(
          {telltale::testing::MakeChannel("chamber pressure", "kPa"),
           telltale::testing::MakeChannel("valve", "",
                                          data::ChannelKind::kCommand)})
          .value();

  const auto read = DecodeChannels(EncodeChannels(channels));

  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, channels);
}

TEST(RecordCodec, ArraysOfBrokenLengthAreDamage) {
  EXPECT_THAT(FloatsFrom(BytesOf(std::vector<float>{1, 2})).value(),
              ElementsAre(1, 2));
  EXPECT_TRUE(absl::IsDataLoss(FloatsFrom("12345").status()));
  EXPECT_TRUE(absl::IsDataLoss(Int64sFrom("12345").status()));
}

}  // namespace
}  // namespace telltale::server
