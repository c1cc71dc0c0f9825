// Attention rows, whose memory is bounded whether they are read or not.

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/service_fixture.h"

namespace telltale::server {
namespace {

using ::testing::HasSubstr;

// The rows of a large window take 4 MB, so that there is room for two.
class AttentionTest : public ServiceFixture {
 protected:
  static constexpr int kLarge = 1000;

  AttentionTest() {
    options_.max_attention_mib = 8;
    Restart();
  }

  // With a client that takes no more from the network than it reads, as one
  // far away: on a fast network it would gladly take it all.
  void Restart() {
    ServiceFixture::Restart();
    grpc::ChannelArguments arguments;
    arguments.SetInt("grpc.http2.bdp_probe", 0);
    arguments.SetInt("grpc.http2.lookahead_bytes", 65'535);
    channel_ = grpc::CreateCustomChannel(
        server_->address(), grpc::InsecureChannelCredentials(), arguments);
    detection_ = v1::AnomalyDetectionService::NewStub(channel_);
  }

  static v1::OpenStream OpeningWithRows(const std::string& stream) {
    v1::OpenStream open = Opening(stream);
    open.set_attention_detail(v1::ATTENTION_DETAIL_ROWS);
    return open;
  }

  static v1::GetAttentionRequest LargeRequest() {
    v1::GetAttentionRequest request;
    *request.mutable_window()->mutable_channels() =
        Opening("unused").channels();
    *request.mutable_window()->mutable_window() = Telemetry(0, kLarge);
    return request;
  }

  // A GetAttention call that is read as far as the test wants.
  class AttentionReader {
   public:
    AttentionReader(v1::AnomalyDetectionService::Stub& stub,
                    const v1::GetAttentionRequest& request)
        : reader_(stub.GetAttention(&context_, request)) {}

    bool Read() {
      v1::GetAttentionResponse response;
      return reader_->Read(&response);
    }
    // Reads the rest.
    grpc::Status Finish() {
      while (Read()) {
      }
      return reader_->Finish();
    }

   private:
    grpc::ClientContext context_;
    std::unique_ptr<grpc::ClientReader<v1::GetAttentionResponse>> reader_;
  };

  std::unique_ptr<AttentionReader> GetAttention() {
    return std::make_unique<AttentionReader>(*detection_, LargeRequest());
  }

  // Two windows whose rows take what there is, unread.
  void FillWithoutReading(Call& call) {
    v1::StreamWindowsRequest frame;
    *frame.add_open() = OpeningWithRows("unread");
    *frame.add_windows() = Windowed("unread", 1, Telemetry(0, kLarge));
    *frame.add_windows() = Windowed("unread", 2, Telemetry(kLarge, kLarge));
    call.Write(frame);
  }

  // The reply to a window, past its rows.
  static v1::StreamWindowsResponse ReadPastRows(Call& call, int& blocks) {
    v1::StreamWindowsResponse reply = call.Read();
    for (; reply.has_attention(); reply = call.Read()) ++blocks;
    return reply;
  }
};

TEST_F(AttentionTest, RowsComeAheadOfTheScoresWhenAskedFor) {
  Call call(*detection_);
  call.Open(OpeningWithRows("craft"));
  call.Read();
  call.Send(Windowed("craft", 1, Telemetry(0, 4)));

  const v1::WindowAttention attention = call.Read().attention();
  EXPECT_EQ(attention.sequence(), 1);
  EXPECT_EQ(attention.rows().query_time_ns_size(), 4);
  EXPECT_EQ(attention.rows().weights_size(), 16);
  EXPECT_EQ(call.Read().scored().sequence(), 1);
}

TEST_F(AttentionTest, RowsInFlightAreBoundedOverAllStreams) {
  control_->Close();
  Call call(*detection_);
  FillWithoutReading(call);
  v1::StreamWindowsRequest frame;
  *frame.add_open() = OpeningWithRows("late");
  *frame.add_windows() = Windowed("late", 1, Telemetry(0, kLarge));
  call.Write(frame);
  std::map<std::string, v1::StreamWindowsResponse> rejected;
  for (int i = 0; i < 3; ++i) {
    v1::StreamWindowsResponse reply = call.Read();
    if (reply.has_rejected()) rejected[reply.stream()] = std::move(reply);
  }

  ASSERT_TRUE(rejected.contains("late"));
  const v1::WindowRejected& late = rejected["late"].rejected();
  EXPECT_EQ(late.code(), google::rpc::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(late.has_retry_delay());
  EXPECT_EQ(late.expected_sequence(), 1);

  // Those that were accepted come with their rows, and then there is room.
  control_->Open();
  int blocks = 0;
  EXPECT_EQ(ReadPastRows(call, blocks).scored().sequence(), 1);
  EXPECT_EQ(ReadPastRows(call, blocks).scored().sequence(), 2);
  EXPECT_GT(blocks, 30);
  blocks = 0;
  call.Send(Windowed("late", 1, Telemetry(0, kLarge)));
  EXPECT_EQ(ReadPastRows(call, blocks).scored().sequence(), 1);
  EXPECT_GT(blocks, 15);
}

TEST_F(AttentionTest, AWindowWhoseRowsNeverFitIsRefusedByField) {
  options_.max_attention_mib = 1;
  Restart();
  Call call(*detection_);
  call.Open(OpeningWithRows("craft"));
  call.Read();
  call.Send(Windowed("craft", 1, Telemetry(0, kLarge)));

  const v1::WindowRejected rejected = call.Read().rejected();
  EXPECT_EQ(rejected.code(), google::rpc::INVALID_ARGUMENT);
  ASSERT_EQ(rejected.field_violations_size(), 1);
  EXPECT_EQ(rejected.field_violations(0).field(), "window.time_ns");
  EXPECT_THAT(rejected.message(), HasSubstr("send shorter windows"));
  EXPECT_EQ(GetAttention()->Finish().error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  // Without rows the same window is welcome.
  Call other(*detection_);
  other.Open(Opening("plain"));
  other.Read();
  other.Send(Windowed("plain", 1, Telemetry(0, kLarge)));
  EXPECT_EQ(other.Read().scored().sequence(), 1);
}

TEST_F(AttentionTest, LayersThatTheModelHasNotAreNamed) {
  StreamAll("craft", 1, 2);
  v1::GetAttentionRequest stored;
  stored.mutable_instant()->set_stream("craft");
  stored.mutable_instant()->set_time_ns(9 * kSecond);
  for (v1::GetAttentionRequest request : {LargeRequest(), stored}) {
    request.add_layers(0);
    EXPECT_TRUE(AttentionReader(*detection_, request).Finish().ok());
    for (const int layer : {1, -1}) {
      request.add_layers(layer);
      const grpc::Status status =
          AttentionReader(*detection_, request).Finish();
      EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
      EXPECT_THAT(status.error_message(),
                  AllOf(HasSubstr("layers[1]"), HasSubstr("has 1")));
    }
  }
}

TEST_F(AttentionTest, AStreamThatLeavesRowsUnreadIsCutOff) {
  options_.attention_seconds = 1;
  Restart();
  Call idle(*detection_);
  FillWithoutReading(idle);
  ASSERT_TRUE(idle.Read().has_opened());
  ASSERT_TRUE(idle.Read().has_attention());

  // Room is made for others, however little the first one reads.
  grpc::Status status(grpc::StatusCode::RESOURCE_EXHAUSTED, "not yet tried");
  while (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
    status = GetAttention()->Finish();
  }
  EXPECT_TRUE(status.ok()) << status.error_message();
  while (idle.Read().reply_case() != v1::StreamWindowsResponse::REPLY_NOT_SET) {
  }
  EXPECT_EQ(idle.Finish().error_code(), grpc::StatusCode::CANCELLED);
  // What was scored is stored, and the stream is free.
  v1::StreamWindowsResponse reply;
  while (!reply.has_opened()) {
    Call again(*detection_);
    again.Open(OpeningWithRows("unread"));
    reply = again.Read();
  }
  EXPECT_GT(reply.opened().resume_from(), 1);
}

TEST_F(AttentionTest, CallsThatDoNotReadKeepNobodyFromAsking) {
  options_.max_attention_mib = 64;
  Restart();
  std::vector<std::unique_ptr<AttentionReader>> idle;
  for (int i = 0; i < 6; ++i) {
    idle.push_back(GetAttention());
    ASSERT_TRUE(idle.back()->Read()) << i;
  }

  EXPECT_TRUE(GetAttention()->Finish().ok());
  for (const auto& reader : idle) EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(AttentionTest, ACallForRowsThatIsNotReadIsCutOff) {
  options_.attention_seconds = 1;
  Restart();
  const auto first = GetAttention();
  const auto second = GetAttention();
  ASSERT_TRUE(first->Read());
  ASSERT_TRUE(second->Read());
  ASSERT_EQ(GetAttention()->Finish().error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);

  while (!GetAttention()->Finish().ok()) {
  }

  EXPECT_EQ(first->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(second->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

}  // namespace
}  // namespace telltale::server
