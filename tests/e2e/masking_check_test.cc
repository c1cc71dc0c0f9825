// The masking check of a stream's alarms.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/service_fixture.h"

namespace telltale::server {
namespace {

using MaskingCheckTest = ServiceFixture;

TEST_F(MaskingCheckTest, ComesWhenAskedForAndIsStored) {
  v1::OpenStream open = Opening("craft");
  open.set_masking_check(true);
  Call call(*detection_);
  call.Open(open);
  call.Read();
  call.Send(Windowed("craft", 1, Telemetry(0, 64)));

  const v1::StreamWindowsResponse reply = call.Read();
  std::vector<std::string> anomalies;
  for (const auto& instant : reply.scored().instants()) {
    EXPECT_EQ(instant.has_masking_check(), instant.anomaly());
    if (!instant.anomaly()) continue;
    EXPECT_EQ(instant.masking_check().masked_count(), 1);
    EXPECT_EQ(instant.masking_check().pointed_change(), 2.5F);
    EXPECT_EQ(instant.masking_check().random_change(), 0.5F);
    EXPECT_EQ(instant.points_back_to(0).masking_change(), 2.5F);
    EXPECT_FALSE(instant.points_back_to(1).has_masking_change());
    anomalies.push_back(instant.SerializeAsString());
  }
  EXPECT_FALSE(anomalies.empty());
  v1::ListScoresRequest request;
  request.set_stream("craft");
  request.set_anomalies_only(true);
  grpc::ClientContext context;
  v1::ListScoresResponse listed;
  ASSERT_TRUE(history_->ListScores(&context, request, &listed).ok());
  std::vector<std::string> stored;
  for (const v1::StoredScore& score : listed.scores()) {
    stored.push_back(score.instant().SerializeAsString());
  }
  EXPECT_EQ(stored, anomalies);
}

TEST_F(MaskingCheckTest, NeedsInstantsPointedBackTo) {
  v1::OpenStream open = Opening("craft");
  open.set_masking_check(true);
  open.set_attention_detail(v1::ATTENTION_DETAIL_NONE);
  Call call(*detection_);
  call.Open(open);
  call.Read();
  call.Send(Windowed("craft", 1, Telemetry(0, 64)));

  const v1::StreamWindowsResponse reply = call.Read();
  ASSERT_EQ(reply.scored().instants_size(), 64);
  for (const auto& instant : reply.scored().instants()) {
    EXPECT_FALSE(instant.has_masking_check());
  }
}

}  // namespace
}  // namespace telltale::server
