#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "server/scheduling/batch_scheduler.h"
#include "server/scheduling/score_task.h"
#include "server/streaming/attention_budget.h"
#include "server/streaming/stream_registry.h"
#include "server/streaming/stream_session.h"
#include "tests/support/fake_detector.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_score_store.h"

namespace telltale::server {

// Collects a session's replies.
class RecordingSink final : public ReplySink {
 public:
  void Send(StreamReply reply) override {
    const std::lock_guard lock(mutex_);
    replies_.push_back(std::move(reply));
    changed_.notify_all();
  }

  void OnProgress() override {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

  // Waits for so many replies in all.
  std::vector<StreamReply> Await(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return replies_.size() >= count; });
    return replies_;
  }

  size_t count() {
    const std::lock_guard lock(mutex_);
    return replies_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<StreamReply> replies_;
};

// "opened 1", "scored 3", "scored 3 again", "rejected 4 UNAVAILABLE",
// "draining 5".
inline std::string Summary(const StreamReply& reply) {
  if (const auto* opened = std::get_if<StreamOpened>(&reply.content)) {
    return "opened " + std::to_string(opened->resume_from);
  }
  if (const auto* scored = std::get_if<WindowScored>(&reply.content)) {
    return "scored " + std::to_string(scored->sequence) +
           (scored->duplicate ? " again" : "");
  }
  if (const auto* rejected = std::get_if<WindowRejected>(&reply.content)) {
    return "rejected " + std::to_string(rejected->sequence) + " " +
           absl::StatusCodeToString(rejected->reason.code());
  }
  return "draining " +
         std::to_string(std::get<StreamDraining>(reply.content).resume_from);
}

inline std::vector<std::string> Summaries(
    const std::vector<StreamReply>& replies) {
  std::vector<std::string> summaries;
  summaries.reserve(replies.size());
  for (const StreamReply& reply : replies) summaries.push_back(Summary(reply));
  return summaries;
}

// A scheduler, a store in memory, a fake detector, and sessions on them.
class SessionFixture : public ::testing::Test {
 public:
  // The detector must be let go, or the scheduler could not end.
  ~SessionFixture() override {
    control_->Open();
    for (const auto& session : sessions_) session->Detach();
  }

 protected:
  static constexpr int64_t kSecond = 1'000'000'000;

  SessionFixture() {
    testing::FakeDetector::Options options;
    options.control = control_;
    detector_ = testing::FakeDetector::Make(std::move(options));
    const model::ModelDescription& description = detector_->description();
    label_ = std::make_shared<const ModelLabel>(ModelLabel{
        description.name, description.version, description.channels});
  }

  std::shared_ptr<StreamSession> Open(std::shared_ptr<RecordingSink> sink,
                                      int64_t epoch = 0) {
    auto session = std::make_shared<StreamSession>(
        SessionContext{scheduler_, store_, clock_, attention_},
        StreamSession::Options{
            .epoch = epoch, .detector = detector_.get(), .model = label_},
        registry_.Open({.tenant = "default", .stream = "craft"}).value(),
        std::move(sink));
    sessions_.push_back(session);
    session->Open();
    return session;
  }

  // Ends a session and waits until its stream is free for the next.
  void Close(std::shared_ptr<StreamSession>& session) {
    session->Detach();
    std::erase(sessions_, session);
    session.reset();
    while (registry_.open_streams() > 0) std::this_thread::yield();
  }

  // `length` instants from second `begin` on, a second apart, of two channels.
  static SentWindow Window(int64_t sequence, int64_t begin, int length,
                           float offset = 0) {
    std::vector<int64_t> time_ns;
    std::vector<float> samples;
    for (int t = 0; t < length; ++t) {
      time_ns.push_back((begin + t) * kSecond);
      const auto value = static_cast<float>((begin + t) * 37 % 11);
      samples.push_back(value + offset);
      samples.push_back(value * 2);
    }
    return {.sequence = sequence,
            .window = std::make_shared<const data::Window>(
                data::Window::Create(std::move(time_ns), std::move(samples), 2)
                    .value()),
            .reception_time_ns = {}};
  }

  std::shared_ptr<testing::DetectorControl> control_ =
      std::make_shared<testing::DetectorControl>();
  testing::ManualClock clock_;
  testing::MemoryScoreStore store_;
  AttentionBudget attention_{1 << 20};
  std::unique_ptr<const model::Detector> detector_;
  std::shared_ptr<const ModelLabel> label_;
  StreamRegistry registry_{16};
  BatchScheduler scheduler_{{.workers = 2}, clock_, ScoreBatch};
  std::shared_ptr<RecordingSink> sink_ = std::make_shared<RecordingSink>();
  std::vector<std::shared_ptr<StreamSession>> sessions_;
};

}  // namespace telltale::server
