#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "model/detector.h"
#include "tests/support/channels.h"

namespace telltale::testing {

// Stops and counts a FakeDetector's work from outside. Shared with the
// detector, since tests hand that over. Thread-safe.
class DetectorControl {
 public:
  // From now on Advance waits, until Open.
  void Close();
  void Open();
  // Waits until so many calls of Advance have begun since the start.
  void AwaitCalls(int count);
  // The next call fails.
  void FailNext(absl::Status status);

  // How many windows each call has had.
  std::vector<int> batch_sizes() const;

  // For the detector: begins a call and waits while closed.
  absl::Status Enter(int windows);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  absl::Status next_;
  std::vector<int> batch_sizes_;
};

// A small real detector. An instant's score is how far its mean lies from the
// mean of the kMemory instants before it, in tens, plus a trace of its number
// in the stream: so a score betrays a wrong context, a wrong count and a lost
// instant. The first two instants warm up. Above kThreshold it alarms and
// points back to all instants in memory.
class FakeDetector final : public model::Detector {
 public:
  static constexpr int kMemory = 8;
  static constexpr float kThreshold = 3;

  struct Options {
    std::string name = "fake";
    std::vector<data::Channel> channels = {MakeChannel("pressure", "kPa"),
                                           MakeChannel("flow", "kg/s")};
    std::shared_ptr<DetectorControl> control;  // may be null
  };

  static std::unique_ptr<const model::Detector> Make(Options options);
  static std::unique_ptr<const model::Detector> Make() { return Make({}); }

  const model::ModelDescription& description() const override {
    return description_;
  }
  int replay_length() const override { return kMemory; }
  std::unique_ptr<model::StreamState> NewStream(
      int64_t instant_count) const override;
  absl::StatusOr<std::unique_ptr<model::StreamState>> RestoreStream(
      std::string_view bytes) const override;
  absl::StatusOr<std::vector<model::WindowScore>> Advance(
      std::span<const model::StreamWindow> windows) const override;

 private:
  explicit FakeDetector(Options options);

  model::ModelDescription description_;
  std::shared_ptr<DetectorControl> control_;
};

}  // namespace telltale::testing
