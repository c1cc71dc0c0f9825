// The command line's client against a server that comes and goes.

#include "server/cli/scoring_client.h"

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/service_fixture.h"

namespace telltale::server {
namespace {

using ::testing::HasSubstr;

class ScoringClientTest : public ServiceFixture {
 protected:
  ScoringClient::Options ClientOptions(const std::string& stream) {
    return {.server = server_->address(), .open = Opening(stream)};
  }

  ScoringClient::OnScored Collect() {
    return [this](const v1::WindowScored& scored) {
      for (const auto& instant : scored.instants()) {
        verdicts_.push_back(instant.SerializeAsString());
      }
    };
  }

  std::vector<std::string> verdicts_;
};

TEST_F(ScoringClientTest, BringsBackEveryScoreInOrder) {
  const auto expected = StreamAll("alone", 1, 50);
  ScoringClient client(ClientOptions("craft"), Collect());
  for (int64_t s = 1; s <= 50; ++s) {
    ASSERT_TRUE(client.Send(Telemetry(s * 4, 4)).ok());
  }

  ASSERT_TRUE(client.Finish().ok());

  EXPECT_EQ(verdicts_, expected);
}

TEST_F(ScoringClientTest, GoesOnOverRestartsOfTheServer) {
  const auto expected = StreamAll("alone", 1, 60);
  const std::string address = server_->address();
  ScoringClient client(ClientOptions("craft"), Collect());
  for (int64_t s = 1; s <= 60; ++s) {
    const absl::Status sent = client.Send(Telemetry(s * 4, 4));
    ASSERT_TRUE(sent.ok()) << sent;
    if (s % 20 != 0) continue;
    options_.listen = address;  // the same port again
    Restart();
  }

  const absl::Status finished = client.Finish();

  ASSERT_TRUE(finished.ok()) << finished;
  EXPECT_EQ(verdicts_, expected);
  v1::ListScoresRequest request;
  request.set_stream("craft");
  EXPECT_EQ(ListAll(request), expected);
}

TEST_F(ScoringClientTest, SendsAgainWhatWasRefusedForNow) {
  const auto expected = StreamAll("alone", 1, 40);
  auto options = ClientOptions("craft");
  options.max_in_flight = 8;  // twice what the server takes
  ScoringClient client(std::move(options), Collect());
  for (int64_t s = 1; s <= 40; ++s) {
    ASSERT_TRUE(client.Send(Telemetry(s * 4, 4)).ok());
  }

  ASSERT_TRUE(client.Finish().ok());

  EXPECT_EQ(verdicts_, expected);
}

TEST_F(ScoringClientTest, GivesUpWhenTheServerStaysAway) {
  server_->Drain();
  auto options = ClientOptions("craft");
  options.patience = std::chrono::milliseconds(300);
  ScoringClient client(std::move(options), Collect());

  const absl::Status sent = client.Send(Telemetry(0, 4));

  EXPECT_TRUE(absl::IsUnavailable(sent)) << sent;
  EXPECT_THAT(std::string(sent.message()), HasSubstr("telltale serve"));
}

TEST_F(ScoringClientTest, ReportsARefusalForGoodAtOnce) {
  auto options = ClientOptions("craft");
  options.open.mutable_channels(1)->set_unit("l/min");
  ScoringClient client(std::move(options), Collect());

  const absl::Status sent = client.Send(Telemetry(0, 4));

  EXPECT_TRUE(absl::IsInvalidArgument(sent)) << sent;
  EXPECT_THAT(std::string(sent.message()),
              AllOf(HasSubstr("'l/min'"), HasSubstr("'kg/s'")));
}

}  // namespace
}  // namespace telltale::server
