// The calls that ask: single windows, attention, history, models, health.

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/google/rpc/status.pb.h"
#include "proto/grpc/health/v1/health.grpc.pb.h"
#include "server/rpc/error_details.h"
#include "tests/e2e/service_fixture.h"

namespace telltale::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class QueriesTest : public ServiceFixture {
 protected:
  static v1::ScoreWindowRequest Single() {
    v1::ScoreWindowRequest request;
    *request.mutable_channels() = Opening("unused").channels();
    *request.mutable_window() = Telemetry(4, 12);
    return request;
  }

  grpc::Status ScoreWindow(const v1::ScoreWindowRequest& request,
                           v1::ScoreWindowResponse& response) {
    grpc::ClientContext context;
    return detection_->ScoreWindow(&context, request, &response);
  }

  grpc::Status GetAttention(const v1::GetAttentionRequest& request,
                            std::vector<v1::AttentionRows>& blocks) {
    grpc::ClientContext context;
    auto reader = detection_->GetAttention(&context, request);
    v1::GetAttentionResponse response;
    while (reader->Read(&response)) {
      EXPECT_LT(response.ByteSizeLong(), 1U << 20);
      blocks.push_back(response.rows());
    }
    return reader->Finish();
  }

  // The field that an error names.
  static std::string FieldOf(const grpc::Status& status) {
    google::rpc::Status details;
    google::rpc::BadRequest fields;
    if (!details.ParseFromString(status.error_details()) ||
        details.details_size() == 0 || !details.details(0).UnpackTo(&fields)) {
      return "";
    }
    return fields.field_violations(0).field();
  }
};

TEST_F(QueriesTest, ScoresASingleWindowLikeTheBeginningOfAStream) {
  const auto streamed = StreamAll("craft", 1, 3);

  v1::ScoreWindowResponse response;
  ASSERT_TRUE(ScoreWindow(Single(), response).ok());

  ASSERT_EQ(response.instants_size(), 12);
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(response.instants(i).SerializeAsString(), streamed[i]);
  }
  EXPECT_EQ(response.model(), "fake");
  EXPECT_EQ(response.threshold(), testing::FakeDetector::kThreshold);
}

TEST_F(QueriesTest, ExplainsWhatIsWrongWithASingleWindow) {
  v1::ScoreWindowResponse response;
  v1::ScoreWindowRequest request = Single();
  request.mutable_window()->set_samples(3, 2e30F);
  const grpc::Status status = ScoreWindow(request, response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(FieldOf(status), "window.samples[3]");

  EXPECT_EQ(FieldOf(ScoreWindow({}, response)), "channels");
  request = Single();
  request.set_model("none");
  EXPECT_EQ(ScoreWindow(request, response).error_code(),
            grpc::StatusCode::NOT_FOUND);
  request = Single();
  request.clear_window();
  EXPECT_EQ(FieldOf(ScoreWindow(request, response)), "window.time_ns");
}

TEST_F(QueriesTest, ADetectorFaultIsInternalAndPasses) {
  control_->FailNext(absl::InternalError("the forecast is not finite"));
  v1::ScoreWindowResponse response;

  EXPECT_EQ(ScoreWindow(Single(), response).error_code(),
            grpc::StatusCode::INTERNAL);
  EXPECT_TRUE(ScoreWindow(Single(), response).ok());
}

TEST_F(QueriesTest, GivesTheFullMatrixOfAWindowInBlocks) {
  v1::GetAttentionRequest request;
  *request.mutable_window()->mutable_channels() = Opening("unused").channels();
  *request.mutable_window()->mutable_window() = Telemetry(0, 600);

  std::vector<v1::AttentionRows> blocks;
  ASSERT_TRUE(GetAttention(request, blocks).ok());

  EXPECT_GT(blocks.size(), 1U);
  int queries = 0;
  for (const v1::AttentionRows& block : blocks) {
    EXPECT_EQ(block.key_time_ns_size(), 600);
    ASSERT_EQ(block.weights_size(), block.query_time_ns_size() * 600);
    for (int q = 0; q < block.query_time_ns_size(); ++q, ++queries) {
      EXPECT_EQ(block.query_time_ns(q), queries * kSecond);
      EXPECT_EQ(block.weights(q * 600 + queries), 1);  // itself alone
    }
  }
  EXPECT_EQ(queries, 600);
}

TEST_F(QueriesTest, GivesTheRowsOfAStoredInstantInItsContext) {
  StreamAll("craft", 1, 6);
  v1::GetAttentionRequest request;
  request.mutable_instant()->set_stream("craft");
  request.mutable_instant()->set_time_ns(22 * kSecond);

  std::vector<v1::AttentionRows> blocks;
  ASSERT_TRUE(GetAttention(request, blocks).ok());

  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_THAT(blocks[0].query_time_ns(), ElementsAre(22 * kSecond));
  // The memory of eight instants before the window 20 to 23, and the window.
  ASSERT_EQ(blocks[0].key_time_ns_size(), 12);
  EXPECT_EQ(blocks[0].key_time_ns(0), 12 * kSecond);
  EXPECT_EQ(blocks[0].weights(10), 1);

  request.mutable_instant()->set_time_ns(23 * kSecond + 1);
  EXPECT_EQ(GetAttention(request, blocks).error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(FieldOf(GetAttention({}, blocks)), "source");
}

TEST_F(QueriesTest, ChecksAStoredAnomalyByMaskingAheadOfItsRows) {
  const auto answered = StreamAll("craft", 1, 6);
  v1::GetAttentionRequest request;
  request.mutable_instant()->set_stream("craft");
  request.mutable_instant()->set_time_ns(21 * kSecond);
  request.set_masking_check(true);
  grpc::ClientContext context;
  auto reader = detection_->GetAttention(&context, request);
  v1::GetAttentionResponse response;

  ASSERT_TRUE(reader->Read(&response));
  ASSERT_TRUE(response.has_checked());
  EXPECT_FALSE(response.has_rows());
  EXPECT_EQ(response.checked().time_ns(), 21 * kSecond);
  EXPECT_TRUE(response.checked().anomaly());
  EXPECT_EQ(response.checked().masking_check().pointed_change(), 2.5F);
  EXPECT_EQ(response.checked().contributions_size(), 1);
  EXPECT_EQ(response.model_version().size(), 64);
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_FALSE(response.has_checked());
  EXPECT_THAT(response.rows().query_time_ns(), ElementsAre(21 * kSecond));
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(QueriesTest, ChecksASingleWindowByMaskingWhenAsked) {
  v1::ScoreWindowRequest request = Single();
  *request.mutable_window() = Telemetry(0, 64);
  v1::ScoreWindowResponse response;
  ASSERT_TRUE(ScoreWindow(request, response).ok());
  for (const auto& instant : response.instants()) {
    EXPECT_FALSE(instant.has_masking_check());
  }

  request.set_masking_check(true);
  ASSERT_TRUE(ScoreWindow(request, response).ok());

  int anomalies = 0;
  for (const auto& instant : response.instants()) {
    anomalies += instant.anomaly() ? 1 : 0;
    EXPECT_EQ(instant.has_masking_check(), instant.anomaly());
  }
  EXPECT_GT(anomalies, 0);
}

TEST_F(QueriesTest, ListsWhatWasAnsweredPageByPage) {
  const auto answered = StreamAll("craft", 1, 10);
  v1::ListScoresRequest request;
  request.set_stream("craft");
  EXPECT_EQ(ListAll(request), answered);
  request.set_page_size(7);
  EXPECT_EQ(ListAll(request), answered);

  request.set_start_time_ns(10 * kSecond);
  request.set_end_time_ns(14 * kSecond);
  EXPECT_EQ(ListAll(request), std::vector<std::string>(answered.begin() + 6,
                                                       answered.begin() + 10));
  request.Clear();
  request.set_stream("craft");
  request.set_min_score(testing::FakeDetector::kThreshold);
  const auto high = ListAll(request);
  request.clear_min_score();
  request.set_anomalies_only(true);
  EXPECT_EQ(ListAll(request), high);
  EXPECT_FALSE(high.empty());
}

TEST_F(QueriesTest, RefusesListingsThatMakeNoSense) {
  StreamAll("craft", 1, 1);
  const auto list = [this](const v1::ListScoresRequest& request) {
    grpc::ClientContext context;
    v1::ListScoresResponse response;
    return history_->ListScores(&context, request, &response);
  };
  v1::ListScoresRequest request;
  EXPECT_EQ(FieldOf(list(request)), "stream");
  request.set_stream("craft");
  request.set_page_size(-1);
  EXPECT_EQ(FieldOf(list(request)), "page_size");
  request.set_page_size(0);
  request.set_page_token("'; DROP TABLE windows; --");
  EXPECT_EQ(FieldOf(list(request)), "page_token");
  request.clear_page_token();
  request.set_min_score(std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(FieldOf(list(request)), "min_score");
  request.clear_min_score();
  request.set_tenant("other");
  EXPECT_EQ(list(request).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(QueriesTest, DescribesItsModels) {
  const auto stub = v1::ModelService::NewStub(channel_);
  grpc::ClientContext context;
  v1::ListModelsResponse models;
  ASSERT_TRUE(stub->ListModels(&context, {}, &models).ok());
  ASSERT_EQ(models.models_size(), 1);

  grpc::ClientContext other_context;
  v1::GetModelRequest request;
  request.set_name("fake");
  v1::Model model;
  ASSERT_TRUE(stub->GetModel(&other_context, request, &model).ok());
  EXPECT_EQ(model.SerializeAsString(), models.models(0).SerializeAsString());
  EXPECT_EQ(model.channels(1).unit(), "kg/s");
  EXPECT_EQ(model.precision(), "f32");
  EXPECT_EQ(model.context_length(), testing::FakeDetector::kMemory);

  grpc::ClientContext third_context;
  request.set_name("none");
  const grpc::Status status = stub->GetModel(&third_context, request, &model);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("known: fake"));
}

TEST_F(QueriesTest, SaysThatItServes) {
  namespace health = ::grpc::health::v1;
  const auto stub = health::Health::NewStub(channel_);
  for (const char* service : {"", "telltale.v1.AnomalyDetectionService"}) {
    grpc::ClientContext context;
    health::HealthCheckRequest request;
    request.set_service(service);
    health::HealthCheckResponse response;
    ASSERT_TRUE(stub->Check(&context, request, &response).ok());
    EXPECT_EQ(response.status(), health::HealthCheckResponse::SERVING);
  }
}

TEST_F(QueriesTest, RefusesAPortThatIsTaken) {
  Options options = options_;
  options.listen = server_->address();
  options.store = folder_ / "other.db";
  std::vector<std::unique_ptr<const model::Detector>> detectors;
  detectors.push_back(testing::FakeDetector::Make());

  const auto second = Server::Start(
      options, Models::Create(std::move(detectors)).value(), log_, clock_);

  EXPECT_TRUE(absl::IsUnavailable(second.status()));
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(server_->address()));
}

}  // namespace
}  // namespace telltale::server
