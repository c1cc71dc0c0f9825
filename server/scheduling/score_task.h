#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "data/window.h"
#include "model/detector.h"

namespace telltale::server {

// One stream's next window, to be advanced over.
//
// Owned by the scheduler from Submit on. `detector` and `state` must live until
// `done` has been called.
struct ScoreTask {
  // Tasks with the same stream number run one after the other, in the order of
  // submission. Numbers are given out by BatchScheduler::NewStream.
  uint64_t stream = 0;
  const model::Detector* detector = nullptr;
  model::StreamState* state = nullptr;
  // Shared with whoever stores the window afterwards.
  std::shared_ptr<const data::Window> window;
  bool with_attention = false;
  bool with_masking = false;
  // False: nobody waits for the result any more, or an earlier task has left
  // the state unusable. Asked right before scoring; may be empty.
  std::function<bool()> wanted;
  // Called once, on a scoring thread: the verdicts, kCancelled when not wanted,
  // or the detector's error.
  std::function<void(absl::StatusOr<model::WindowScore>)> done;
};

// Advances the streams of a batch, one call for each detector, and calls every
// task's `done`.
void ScoreBatch(std::vector<std::unique_ptr<ScoreTask>> batch);

}  // namespace telltale::server
