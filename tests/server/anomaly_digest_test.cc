#include "server/cli/anomaly_digest.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace telltale::server {
namespace {

ScoreRow Row(int64_t time_ns, float score) {
  ScoreRow row;
  row.time_ns = time_ns;
  row.score = score;
  row.threshold = 3;
  row.anomaly = score > 3;
  return row;
}

// The anomalies of instants 0, 1, 2, ... with these scores.
std::vector<AnomalyDigest::Anomaly> Digest(const std::vector<float>& scores) {
  AnomalyDigest digest;
  std::vector<AnomalyDigest::Anomaly> anomalies;
  for (size_t t = 0; t < scores.size(); ++t) {
    const auto over = digest.Take(Row(static_cast<int64_t>(t), scores[t]));
    if (over) anomalies.push_back(*over);
  }
  if (const auto over = digest.Finish()) anomalies.push_back(*over);
  EXPECT_EQ(digest.count(), static_cast<int64_t>(anomalies.size()));
  return anomalies;
}

TEST(AnomalyDigest, TellsAnAnomalyByItsStrongestInstant) {
  const auto anomalies = Digest({0, 4, 0, 6, 5, 0});

  ASSERT_EQ(anomalies.size(), 1U);
  EXPECT_EQ(anomalies[0].strongest.time_ns, 3);
  EXPECT_EQ(anomalies[0].first_time_ns, 1);
  EXPECT_EQ(anomalies[0].last_time_ns, 4);
  EXPECT_EQ(anomalies[0].instants, 3);
}

TEST(AnomalyDigest, JoinsAlarmsFewerThanTwentyInstantsApart) {
  std::vector<float> scores(60, 0.0F);
  scores[5] = 4;
  scores[24] = 4;  // 19 later: the same
  scores[44] = 4;  // 20 later: another

  const auto anomalies = Digest(scores);

  ASSERT_EQ(anomalies.size(), 2U);
  EXPECT_EQ(anomalies[0].last_time_ns, 24);
  EXPECT_EQ(anomalies[1].first_time_ns, 44);
}

TEST(AnomalyDigest, IsSilentWhereNothingIsAnomalous) {
  EXPECT_TRUE(Digest({0, 1, 2.9F, 3}).empty());
}

}  // namespace
}  // namespace telltale::server
