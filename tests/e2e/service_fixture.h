#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "proto/telltale/v1/anomaly_detection_service.grpc.pb.h"
#include "proto/telltale/v1/model_service.grpc.pb.h"
#include "proto/telltale/v1/score_history_service.grpc.pb.h"
#include "server/server.h"
#include "tests/support/fake_detector.h"

namespace telltale::server {

namespace v1 = ::telltale::v1;

// The whole service on a port of its own, with the fake detector.
class ServiceFixture : public ::testing::Test {
 public:
  ~ServiceFixture() override {
    control_->Open();
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

 protected:
  static constexpr int64_t kSecond = 1'000'000'000;

  ServiceFixture() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("telltale_" + std::string(test->name()) + "_" +
               std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    options_.listen = "127.0.0.1:0";
    options_.store = folder_ / "scores.db";
    Start();
  }

  void Start() {
    testing::FakeDetector::Options options;
    options.control = control_;
    std::vector<std::unique_ptr<const model::Detector>> detectors;
    detectors.push_back(testing::FakeDetector::Make(std::move(options)));
    auto server = Server::Start(
        options_, Models::Create(std::move(detectors)).value(), log_, clock_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = std::move(*server);
    channel_ = grpc::CreateChannel(server_->address(),
                                   grpc::InsecureChannelCredentials());
    detection_ = v1::AnomalyDetectionService::NewStub(channel_);
    history_ = v1::ScoreHistoryService::NewStub(channel_);
  }

  // Drains, and serves again from the same store, on another port.
  void Restart() {
    server_->Drain();
    server_.reset();
    Start();
  }

  static v1::OpenStream Opening(const std::string& stream, int64_t epoch = 0) {
    v1::OpenStream open;
    open.set_stream(stream);
    open.set_epoch(epoch);
    open.add_channels()->set_name("pressure");
    open.mutable_channels(0)->set_unit("kPa");
    open.add_channels()->set_name("flow");
    open.mutable_channels(1)->set_unit("kg/s");
    return open;
  }

  // Seconds [begin, begin + length) of a signal that alarms now and then.
  static v1::Window Telemetry(int64_t begin, int length, int phase = 0) {
    v1::Window window;
    for (int64_t t = begin; t < begin + length; ++t) {
      window.add_time_ns(t * kSecond);
      const int64_t step = (t * 31 + phase) % 17;
      window.add_samples(static_cast<float>(step == 5 ? 200 : step));
      window.add_samples(static_cast<float>(step) * 0.5F);
    }
    return window;
  }

  static v1::StreamWindow Windowed(const std::string& stream, int64_t sequence,
                                   v1::Window window) {
    v1::StreamWindow sent;
    sent.set_stream(stream);
    sent.set_sequence(sequence);
    *sent.mutable_window() = std::move(window);
    return sent;
  }

  // A StreamWindows call.
  class Call {
   public:
    explicit Call(v1::AnomalyDetectionService::Stub& stub)
        : stream_(stub.StreamWindows(&context_)) {}

    void Open(const v1::OpenStream& open) {
      v1::StreamWindowsRequest request;
      *request.add_open() = open;
      stream_->Write(request);
    }

    void Send(const v1::StreamWindow& window) {
      v1::StreamWindowsRequest request;
      *request.add_windows() = window;
      stream_->Write(request);
    }

    void Write(const v1::StreamWindowsRequest& request) {
      stream_->Write(request);
    }

    // The next reply; empty when the call has ended.
    v1::StreamWindowsResponse Read() {
      v1::StreamWindowsResponse response;
      if (!stream_->Read(&response)) response.Clear();
      return response;
    }

    grpc::Status Finish() {
      stream_->WritesDone();
      return stream_->Finish();
    }

    void Cancel() { context_.TryCancel(); }

   private:
    grpc::ClientContext context_;
    std::unique_ptr<grpc::ClientReaderWriter<v1::StreamWindowsRequest,
                                             v1::StreamWindowsResponse>>
        stream_;
  };

  // Streams windows of four instants from `first` to `last`, one by one, and
  // returns the serialised verdicts.
  std::vector<std::string> StreamAll(const std::string& stream, int64_t first,
                                     int64_t last, int phase = 0,
                                     int64_t epoch = 0) {
    Call call(*detection_);
    call.Open(Opening(stream, epoch));
    EXPECT_EQ(call.Read().opened().resume_from(), first);
    std::vector<std::string> verdicts;
    for (int64_t s = first; s <= last; ++s) {
      call.Send(Windowed(stream, s, Telemetry(s * 4, 4, phase)));
      const v1::StreamWindowsResponse reply = call.Read();
      EXPECT_EQ(reply.scored().sequence(), s) << reply.ShortDebugString();
      for (const auto& instant : reply.scored().instants()) {
        verdicts.push_back(instant.SerializeAsString());
      }
    }
    EXPECT_TRUE(call.Finish().ok());
    return verdicts;
  }

  // All stored verdicts, serialised.
  std::vector<std::string> ListAll(v1::ListScoresRequest request) {
    std::vector<std::string> verdicts;
    do {
      grpc::ClientContext context;
      v1::ListScoresResponse response;
      const grpc::Status status =
          history_->ListScores(&context, request, &response);
      EXPECT_TRUE(status.ok()) << status.error_message();
      for (const v1::StoredScore& score : response.scores()) {
        verdicts.push_back(score.instant().SerializeAsString());
      }
      request.set_page_token(response.next_page_token());
    } while (!request.page_token().empty());
    return verdicts;
  }

  std::filesystem::path folder_;
  Options options_;
  Log log_{Log::Level::kError};
  SystemClock clock_;
  std::shared_ptr<testing::DetectorControl> control_ =
      std::make_shared<testing::DetectorControl>();
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::AnomalyDetectionService::Stub> detection_;
  std::unique_ptr<v1::ScoreHistoryService::Stub> history_;
};

}  // namespace telltale::server
