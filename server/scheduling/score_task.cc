#include "server/scheduling/score_task.h"

#include <map>
#include <utility>

#include "absl/status/status.h"

namespace telltale::server {
namespace {

using Tasks = std::vector<std::unique_ptr<ScoreTask>>;

void ScoreWith(const model::Detector& detector, const Tasks& tasks) {
  std::vector<model::StreamWindow> windows;
  windows.reserve(tasks.size());
  for (const auto& task : tasks) {
    windows.push_back({.state = task->state,
                       .window = task->window.get(),
                       .with_attention = task->with_attention,
                       .with_masking = task->with_masking});
  }
  absl::StatusOr<std::vector<model::WindowScore>> scores =
      detector.Advance(windows);
  if (scores.ok() && scores->size() != tasks.size()) {
    scores = absl::InternalError("the detector left windows unanswered");
  }
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (scores.ok()) {
      tasks[i]->done(std::move((*scores)[i]));
    } else {
      tasks[i]->done(scores.status());
    }
  }
}

}  // namespace

void ScoreBatch(std::vector<std::unique_ptr<ScoreTask>> batch) {
  std::map<const model::Detector*, Tasks> by_detector;
  for (std::unique_ptr<ScoreTask>& task : batch) {
    if (task->wanted && !task->wanted()) {
      task->done(absl::CancelledError("nobody waits for these scores"));
      continue;
    }
    by_detector[task->detector].push_back(std::move(task));
  }
  for (const auto& [detector, tasks] : by_detector) {
    ScoreWith(*detector, tasks);
  }
}

}  // namespace telltale::server
