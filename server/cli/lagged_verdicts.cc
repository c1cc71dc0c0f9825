#include "server/cli/lagged_verdicts.h"

#include <cmath>

#include "model/scoring/verdict.h"

namespace telltale::server {

std::optional<model::InstantScore> LaggedVerdicts::Push(
    const model::InstantScore& score) {
  const std::optional<float> lagged = scores_.Push(score.views);
  recent_.push_back(score);
  recent_.back().views.clear();
  if (!lagged) return std::nullopt;
  return Judge(*lagged);
}

std::optional<model::InstantScore> LaggedVerdicts::Drain() {
  const std::optional<float> lagged = scores_.Drain();
  if (!lagged) return std::nullopt;
  return Judge(*lagged);
}

std::optional<model::InstantScore> LaggedVerdicts::Judge(float lagged) {
  model::InstantScore score = recent_[next_];
  const auto lag = static_cast<size_t>(scores_.lag());
  if (score.state == model::InstantState::kScored && !std::isnan(lagged)) {
    score.score = lagged;
    score.probability = 1 - std::pow(10.0F, -score.score);
    score.anomaly =
        score.score > threshold() ||
        (verdict_threshold_ && score.verdict.value_or(0) > *verdict_threshold_);
    score.severity = model::SeverityOf(score.score, threshold());
    if (!score.anomaly) {
      score.points_back_to.clear();
      score.masking.reset();
    }
    for (size_t d = 1; d <= lag; ++d) {
      if (!score.anomaly || !score.points_back_to.empty()) break;
      if (d <= next_) {
        BorrowCauses(next_ - d, -static_cast<int>(d), score);
      }
      if (score.points_back_to.empty() && next_ + d < recent_.size()) {
        BorrowCauses(next_ + d, static_cast<int>(d), score);
      }
    }
  }
  if (next_ == lag) {
    recent_.pop_front();
  } else {
    ++next_;
  }
  return score;
}

// `distance`: instants from `score` to the other.
void LaggedVerdicts::BorrowCauses(size_t from, int distance,
                                  model::InstantScore& score) {
  for (model::PointedInstant cause : recent_[from].points_back_to) {
    cause.lag -= distance;
    cause.lag_seconds =
        1e-9 * static_cast<double>(score.time_ns - cause.time_ns);
    if (cause.time_ns < score.time_ns) score.points_back_to.push_back(cause);
  }
  if (!score.points_back_to.empty()) score.masking = recent_[from].masking;
}

}  // namespace telltale::server
