// StreamWindows over a real port.

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/service_fixture.h"

namespace telltale::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using StreamingTest = ServiceFixture;

TEST_F(StreamingTest, ChannelsMayComeInAnyOrder) {
  const auto expected = StreamAll("straight", 1, 6);
  v1::OpenStream open = Opening("crossed");
  open.mutable_channels()->SwapElements(0, 1);
  Call call(*detection_);
  call.Open(open);
  call.Read();

  std::vector<std::string> verdicts;
  for (int64_t s = 1; s <= 6; ++s) {
    v1::Window window = Telemetry(s * 4, 4);
    for (int i = 0; i < window.samples_size(); i += 2) {
      window.mutable_samples()->SwapElements(i, i + 1);
    }
    call.Send(Windowed("crossed", s, window));
    const v1::StreamWindowsResponse reply = call.Read();
    for (const auto& instant : reply.scored().instants()) {
      verdicts.push_back(instant.SerializeAsString());
    }
  }

  EXPECT_EQ(verdicts, expected);
}

TEST_F(StreamingTest, AnomaliesComeWithChannelsAndTheInstantsPointedBackTo) {
  Call call(*detection_);
  call.Open(Opening("craft"));
  EXPECT_EQ(call.Read().opened().model(), "fake");
  call.Send(Windowed("craft", 1, Telemetry(0, 64)));

  const v1::StreamWindowsResponse reply = call.Read();
  int anomalies = 0;
  for (const auto& instant : reply.scored().instants()) {
    if (!instant.anomaly()) continue;
    ++anomalies;
    EXPECT_GT(instant.score(), reply.scored().threshold());
    ASSERT_EQ(instant.contributions_size(), 2);
    EXPECT_EQ(instant.contributions(0).channel(), "pressure");
    EXPECT_EQ(instant.contributions(0).unit(), "kPa");
    ASSERT_GE(instant.points_back_to_size(), 1);
    EXPECT_EQ(instant.points_back_to(0).lag(), 1);
    EXPECT_EQ(instant.points_back_to(0).channel(), "pressure");
  }
  EXPECT_GT(anomalies, 0);
  EXPECT_EQ(reply.scored().instants(0).state(), v1::INSTANT_STATE_WARMING_UP);
}

TEST_F(StreamingTest, OneFrameCarriesSeveralStreams) {
  const auto alone_a = StreamAll("alone a", 1, 1, 0);
  const auto alone_b = StreamAll("alone b", 1, 1, 9);
  Call call(*detection_);
  v1::StreamWindowsRequest frame;
  *frame.add_open() = Opening("a");
  *frame.add_open() = Opening("b");
  *frame.add_windows() = Windowed("a", 1, Telemetry(4, 4, 0));
  *frame.add_windows() = Windowed("b", 1, Telemetry(4, 4, 9));
  call.Write(frame);

  std::map<std::string, std::vector<std::string>> verdicts;
  for (int i = 0; i < 4; ++i) {
    const v1::StreamWindowsResponse reply = call.Read();
    for (const auto& instant : reply.scored().instants()) {
      verdicts[reply.stream()].push_back(instant.SerializeAsString());
    }
  }

  EXPECT_EQ(verdicts["a"], alone_a);
  EXPECT_EQ(verdicts["b"], alone_b);
}

TEST_F(StreamingTest, RefusesASecondClientByNameAndServesTheFirst) {
  Call first(*detection_);
  first.Open(Opening("craft"));
  first.Read();
  Call second(*detection_);
  second.Open(Opening("craft"));

  const v1::StreamWindowsResponse refused = second.Read();
  EXPECT_EQ(refused.rejected().code(), google::rpc::ABORTED);
  EXPECT_EQ(refused.rejected().sequence(), 0);
  EXPECT_THAT(refused.rejected().message(), HasSubstr("'craft'"));
  EXPECT_TRUE(refused.rejected().has_retry_delay());

  first.Send(Windowed("craft", 1, Telemetry(0, 4)));
  EXPECT_EQ(first.Read().scored().sequence(), 1);
  second.Open(Opening("another"));
  EXPECT_EQ(second.Read().opened().resume_from(), 1);
}

TEST_F(StreamingTest, AMalformedWindowIsNamedAndTheStreamGoesOn) {
  Call call(*detection_);
  call.Open(Opening("craft"));
  call.Read();
  v1::Window bad = Telemetry(0, 4);
  bad.mutable_samples()->RemoveLast();
  call.Send(Windowed("craft", 1, bad));

  const v1::WindowRejected rejected = call.Read().rejected();
  EXPECT_EQ(rejected.code(), google::rpc::INVALID_ARGUMENT);
  EXPECT_EQ(rejected.sequence(), 1);
  EXPECT_EQ(rejected.expected_sequence(), 1);
  ASSERT_EQ(rejected.field_violations_size(), 1);
  EXPECT_EQ(rejected.field_violations(0).field(), "window.samples");
  EXPECT_THAT(rejected.field_violations(0).description(),
              AllOf(HasSubstr("7 samples"), HasSubstr("make 8")));

  call.Send(Windowed("craft", 2, Telemetry(4, 4)));
  EXPECT_EQ(call.Read().rejected().code(), google::rpc::FAILED_PRECONDITION);
  call.Send(Windowed("craft", 1, Telemetry(0, 4)));
  EXPECT_EQ(call.Read().scored().sequence(), 1);
}

TEST_F(StreamingTest, RefusesOpeningsThatCannotBeAndKeepsTheCall) {
  Call call(*detection_);
  v1::OpenStream unknown_model = Opening("craft");
  unknown_model.set_model("other");
  call.Open(unknown_model);
  EXPECT_EQ(call.Read().rejected().code(), google::rpc::NOT_FOUND);

  v1::OpenStream wrong_unit = Opening("craft");
  wrong_unit.mutable_channels(0)->set_unit("Pa");
  call.Open(wrong_unit);
  const v1::WindowRejected rejected = call.Read().rejected();
  EXPECT_EQ(rejected.code(), google::rpc::INVALID_ARGUMENT);
  EXPECT_EQ(rejected.field_violations(0).field(), "channels[0].unit");
  EXPECT_THAT(rejected.message(), AllOf(HasSubstr("'Pa'"), HasSubstr("'kPa'")));

  v1::OpenStream nameless = Opening("");
  call.Open(nameless);
  EXPECT_EQ(call.Read().rejected().field_violations(0).field(), "stream");
  call.Open(Opening("line\nbreak"));
  EXPECT_EQ(call.Read().rejected().field_violations(0).field(), "stream");
  call.Open(Opening("craft", -1));
  EXPECT_EQ(call.Read().rejected().field_violations(0).field(), "epoch");
  v1::OpenStream unknown = Opening("craft");
  unknown.set_mode(static_cast<v1::StreamMode>(7));
  call.Open(unknown);
  EXPECT_EQ(call.Read().rejected().field_violations(0).field(), "mode");
  unknown.clear_mode();
  unknown.set_attention_detail(static_cast<v1::AttentionDetail>(7));
  call.Open(unknown);
  EXPECT_EQ(call.Read().rejected().field_violations(0).field(),
            "attention_detail");

  call.Send(Windowed("craft", 1, Telemetry(0, 4)));
  EXPECT_EQ(call.Read().rejected().code(), google::rpc::FAILED_PRECONDITION);
  call.Open(Opening("craft"));
  EXPECT_EQ(call.Read().opened().resume_from(), 1);
}

TEST_F(StreamingTest, GoesOnBitForBitAfterARestart) {
  const auto expected = StreamAll("whole", 1, 12);

  std::vector<std::string> verdicts;
  for (const auto& [first, last] :
       std::vector<std::pair<int, int>>{{1, 1}, {2, 6}, {7, 12}}) {
    for (auto& verdict : StreamAll("broken", first, last)) {
      verdicts.push_back(std::move(verdict));
    }
    Restart();
  }

  EXPECT_EQ(verdicts, expected);
  v1::ListScoresRequest request;
  request.set_stream("broken");
  EXPECT_EQ(ListAll(request), expected);
}

TEST_F(StreamingTest, AnswersStoredWindowsAgainAfterARestart) {
  const auto expected = StreamAll("craft", 1, 3);
  Restart();
  Call call(*detection_);
  call.Open(Opening("craft"));
  EXPECT_EQ(call.Read().opened().resume_from(), 4);

  call.Send(Windowed("craft", 2, Telemetry(8, 4)));

  const v1::WindowScored again = call.Read().scored();
  EXPECT_TRUE(again.duplicate());
  ASSERT_EQ(again.instants_size(), 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(again.instants(i).SerializeAsString(), expected[4 + i]);
  }
  call.Send(Windowed("craft", 2, Telemetry(9, 4)));
  EXPECT_EQ(call.Read().rejected().code(), google::rpc::ALREADY_EXISTS);
}

TEST_F(StreamingTest, PlaybackLeavesTheLiveStreamAlone) {
  const auto live = StreamAll("craft", 1, 4);
  v1::OpenStream open = Opening("craft");
  open.set_mode(v1::STREAM_MODE_PLAYBACK);
  Call call(*detection_);
  call.Open(open);
  EXPECT_EQ(call.Read().opened().resume_from(), 1);
  call.Send(Windowed("craft", 1, Telemetry(100, 4)));
  EXPECT_EQ(call.Read().scored().sequence(), 1);

  v1::ListScoresRequest request;
  request.set_stream("craft");
  EXPECT_EQ(ListAll(request), live);
  request.set_mode(v1::STREAM_MODE_PLAYBACK);
  EXPECT_EQ(ListAll(request).size(), 4U);
}

TEST_F(StreamingTest, ManyStreamsAtOnceScoreAsIfAlone) {
  constexpr int kStreams = 100;
  constexpr int kWindows = 8;
  const auto name = [](int i) { return "s" + std::to_string(i); };
  Call call(*detection_);
  v1::StreamWindowsRequest frame;
  for (int i = 0; i < kStreams; ++i) *frame.add_open() = Opening(name(i));
  call.Write(frame);
  for (int i = 0; i < kStreams; ++i) call.Read();

  std::map<std::string, std::vector<std::string>> verdicts;
  for (int64_t s = 1; s <= kWindows; ++s) {
    frame.Clear();
    for (int i = 0; i < kStreams; ++i) {
      *frame.add_windows() = Windowed(name(i), s, Telemetry(s * 4, 4, i));
    }
    call.Write(frame);
    for (int i = 0; i < kStreams; ++i) {
      const v1::StreamWindowsResponse reply = call.Read();
      ASSERT_EQ(reply.scored().sequence(), s) << reply.ShortDebugString();
      for (const auto& instant : reply.scored().instants()) {
        verdicts[reply.stream()].push_back(instant.SerializeAsString());
      }
    }
  }
  EXPECT_TRUE(call.Finish().ok());

  const std::vector<int> sizes = control_->batch_sizes();
  EXPECT_GT(*std::max_element(sizes.begin(), sizes.end()), 1);
  for (const int i : {0, 1, 50, 99}) {
    EXPECT_EQ(verdicts[name(i)], StreamAll("alone " + name(i), 1, kWindows, i));
  }
}

TEST_F(StreamingTest, AClientThatReadsLateDeadlocksNobody) {
  constexpr int64_t kWindows = 3000;
  Call call(*detection_);
  call.Open(Opening("craft"));
  std::thread writer([&call] {
    for (int64_t s = 1; s <= kWindows; ++s) {
      call.Send(Windowed("craft", s, Telemetry(s * 4, 4)));
    }
  });
  // Others are served while the replies to this client pile up.
  EXPECT_THAT(StreamAll("other", 1, 20), Not(IsEmpty()));

  int64_t replies = 0;
  int64_t next = 1;
  EXPECT_TRUE(call.Read().has_opened());
  while (replies < kWindows) {
    const v1::StreamWindowsResponse reply = call.Read();
    ASSERT_NE(reply.reply_case(), v1::StreamWindowsResponse::REPLY_NOT_SET);
    ++replies;
    if (!reply.has_scored()) continue;
    EXPECT_EQ(reply.scored().sequence(), next++);
  }
  writer.join();
  EXPECT_TRUE(call.Finish().ok());
  EXPECT_GT(next, 4);
}

TEST_F(StreamingTest, AClientThatVanishesDuringScoringFreesItsStream) {
  {
    Call call(*detection_);
    call.Open(Opening("craft"));
    call.Read();
    const size_t calls = control_->batch_sizes().size();
    control_->Close();
    call.Send(Windowed("craft", 1, Telemetry(4, 4)));
    control_->AwaitCalls(static_cast<int>(calls) + 1);
    call.Cancel();
    EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  control_->Open();

  // The window was being scored and is kept; until then the stream is taken.
  v1::StreamWindowsResponse reply;
  while (!reply.has_opened()) {
    Call call(*detection_);
    call.Open(Opening("craft"));
    reply = call.Read();
  }
  EXPECT_EQ(reply.opened().resume_from(), 2);
}

TEST_F(StreamingTest, DrainAnswersWhatWasAcceptedAndTellsTheStream) {
  Call call(*detection_);
  call.Open(Opening("craft"));
  call.Read();
  const size_t calls = control_->batch_sizes().size();
  control_->Close();
  call.Send(Windowed("craft", 1, Telemetry(4, 4)));
  call.Send(Windowed("craft", 2, Telemetry(8, 4)));
  control_->AwaitCalls(static_cast<int>(calls) + 1);
  std::thread drain([this] { server_->Drain(); });
  control_->Open();

  std::vector<std::string> seen;
  int64_t answered = 0;
  v1::StreamWindowsResponse reply;
  while (!reply.has_draining()) {
    reply = call.Read();
    ASSERT_NE(reply.reply_case(), v1::StreamWindowsResponse::REPLY_NOT_SET);
    if (reply.has_scored()) answered = reply.scored().sequence();
  }
  EXPECT_GE(answered, 1);
  EXPECT_EQ(reply.draining().resume_from(), answered + 1);
  EXPECT_EQ(call.Read().reply_case(), v1::StreamWindowsResponse::REPLY_NOT_SET);
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  drain.join();

  server_.reset();
  Start();
  Call again(*detection_);
  again.Open(Opening("craft"));
  EXPECT_EQ(again.Read().opened().resume_from(), answered + 1);
}

TEST_F(StreamingTest, AFrameBeyondTheLimitEndsThatCallAlone) {
  Call call(*detection_);
  call.Open(Opening("craft"));
  call.Read();
  call.Send(Windowed("craft", 1, Telemetry(0, 100'000)));
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);

  v1::StreamWindowsRequest frame;
  frame.set_request_id(std::string(65, 'x'));
  Call other(*detection_);
  other.Write(frame);
  const grpc::Status status = other.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("request_id"));

  EXPECT_THAT(StreamAll("other", 1, 2), Not(IsEmpty()));
}

}  // namespace
}  // namespace telltale::server
