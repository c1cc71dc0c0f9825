#include "model/scoring/view_tracker.h"

#include <algorithm>
#include <cmath>

namespace telltale::model {
namespace {

// Deviations that count in a mean at the most.
constexpr float kMost = 1e4F;

static_assert(ViewTracker::kReplayLength >= ResidualScoring::kAbsenceSpan);
static_assert(ViewTracker::kReplayLength >= MovingAverages::kTaps);

}  // namespace

InstantViews::InstantViews(const ResidualScoring& scoring)
    : explained(scoring.deviation.size()),
      views(scoring.layout().count(), 0.0F),
      magnitudes(kSlowViews * static_cast<size_t>(scoring.targets), 0.0F) {}

ViewTracker::ViewTracker(const Scoring& scoring)
    : scoring_(&scoring),
      residuals_(scoring.residuals),
      levels_(static_cast<size_t>(scoring.residuals.targets)),
      novelty_(scoring.novelty),
      means_(scoring.residuals.targets +
             (kSlowViews - 1) * static_cast<int>(novelty_.followed().size())),
      samples_(static_cast<size_t>(scoring.residuals.targets)),
      distances_(novelty_.followed().size()),
      packed_(static_cast<size_t>(scoring.residuals.targets) +
              (kSlowViews - 1) * distances_.size()),
      packed_means_(packed_.size()) {}

// Of the means, every channel has the first column, and three more those alone
// whose novelty is followed.
void ViewTracker::Observe(const Observation& observation, InstantViews& seen) {
  residuals_.Observe(observation.residuals, observation.change, seen.explained,
                     seen.views);
  const ResidualScoring& scoring = scoring_->residuals;
  const ViewLayout layout = scoring.layout();
  // A clamp leaves NaN, a missing sample, as it is.
  std::ranges::transform(observation.samples, samples_.begin(),
                         [](float x) { return std::clamp(x, -kMost, kMost); });
  levels_.Push(samples_,
               std::span(seen.views).subspan(layout.Level(0), samples_.size()));
  if (observation.novelty.empty()) {
    novelty_.Push(observation.samples, distances_);
  } else {
    std::ranges::copy(observation.novelty, distances_.begin());
  }
  const auto targets = static_cast<size_t>(scoring.targets);
  for (size_t c = 0; c < targets; ++c) {
    const float q =
        seen.explained[scoring.Index(scoring.reference, static_cast<int>(c))];
    packed_[c] = std::isnan(q) ? 0 : std::min(std::abs(q), kMost);
  }
  for (size_t i = 0; i < distances_.size(); ++i) {
    float* columns = &packed_[targets + (kSlowViews - 1) * i];
    columns[0] = distances_[i].habituated;
    columns[1] = distances_[i].shape;
    columns[2] = distances_[i].distance;
  }
  means_.Push(packed_, packed_means_);

  const size_t first_slow = layout.Slow(SlowView::kResidual, 0);
  std::copy_n(packed_.begin(), targets, seen.magnitudes.begin());
  std::copy_n(packed_means_.begin(), targets, &seen.views[first_slow]);
  for (size_t i = 0; i < distances_.size(); ++i) {
    const auto channel = static_cast<size_t>(novelty_.followed()[i]);
    for (size_t view = 1; view < kSlowViews; ++view) {
      const size_t from = targets + (kSlowViews - 1) * i + view - 1;
      const size_t to = view * targets + channel;
      seen.magnitudes[to] = packed_[from];
      seen.views[first_slow + to] = packed_means_[from];
    }
  }
}

void ViewTracker::Save(std::string& bytes) const {
  residuals_.Save(bytes);
  levels_.Save(bytes);
  novelty_.Save(bytes);
  means_.Save(bytes);
}

bool ViewTracker::Restore(std::string_view& bytes) {
  return residuals_.Restore(bytes) && levels_.Restore(bytes) &&
         novelty_.Restore(bytes) && means_.Restore(bytes);
}

}  // namespace telltale::model
