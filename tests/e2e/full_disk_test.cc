// The service on a disk that is full for a while.

#include "tests/support/full_disk.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/grpc/health/v1/health.grpc.pb.h"
#include "tests/e2e/service_fixture.h"

namespace telltale::server {
namespace {

namespace health = ::grpc::health::v1;

using ::testing::HasSubstr;

class FullDiskTest : public ServiceFixture {
 protected:
  FullDiskTest() {
    testing::FullDisk::Prepare();
    Restart();
  }

  health::HealthCheckResponse::ServingStatus Health(
      const std::string& service) {
    const auto stub = health::Health::NewStub(channel_);
    grpc::ClientContext context;
    health::HealthCheckRequest request;
    request.set_service(service);
    health::HealthCheckResponse response;
    EXPECT_TRUE(stub->Check(&context, request, &response).ok());
    return response.status();
  }
};

TEST_F(FullDiskTest, HealthSaysSoUntilThereIsRoomAndNothingIsLost) {
  constexpr const char* kDetection = "telltale.v1.AnomalyDetectionService";
  const auto expected = StreamAll("whole", 1, 3);
  Call call(*detection_);
  call.Open(Opening("craft"));
  EXPECT_EQ(call.Read().opened().resume_from(), 1);
  call.Send(Windowed("craft", 1, Telemetry(4, 4)));
  EXPECT_EQ(call.Read().scored().sequence(), 1);
  EXPECT_EQ(Health(""), health::HealthCheckResponse::SERVING);

  {
    testing::FullDisk disk;
    call.Send(Windowed("craft", 2, Telemetry(8, 4)));
    const v1::WindowRejected rejected = call.Read().rejected();
    EXPECT_EQ(rejected.code(), google::rpc::UNAVAILABLE);
    EXPECT_TRUE(rejected.has_retry_delay());
    EXPECT_THAT(rejected.message(), HasSubstr(options_.store));
    EXPECT_EQ(Health(""), health::HealthCheckResponse::NOT_SERVING);
    EXPECT_EQ(Health(kDetection), health::HealthCheckResponse::NOT_SERVING);
    EXPECT_EQ(Health("telltale.v1.ScoreHistoryService"),
              health::HealthCheckResponse::SERVING);
  }

  while (Health("") != health::HealthCheckResponse::SERVING) {
  }
  EXPECT_EQ(Health(kDetection), health::HealthCheckResponse::SERVING);
  for (const int64_t s : {2, 3}) {
    call.Send(Windowed("craft", s, Telemetry(s * 4, 4)));
    EXPECT_EQ(call.Read().scored().sequence(), s);
  }
  v1::ListScoresRequest request;
  request.set_stream("craft");
  EXPECT_EQ(ListAll(request), expected);
}

}  // namespace
}  // namespace telltale::server
