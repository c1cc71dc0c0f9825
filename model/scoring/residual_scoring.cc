#include "model/scoring/residual_scoring.h"

#include <algorithm>
#include <cmath>

#include "model/scoring/byte_io.h"

namespace telltale::model {
namespace {

// Bounds of what one instant says of an effect's absence.
constexpr float kMostAbsence = 8;

// Deviations beyond this are as good as infinite; clamped to stay finite.
constexpr float kMaxDeviations = 1e9F;

}  // namespace

static_assert(ResidualScoring::kAbsenceSpan >= MovingAverages::kTaps);

ResidualTracker::ResidualTracker(const ResidualScoring& scoring)
    : scoring_(&scoring),
      conditional_(scoring.deviation.size()),
      averages_(scoring.deviation.size()),
      absence_(
          ResidualScoring::kAbsenceSpan * static_cast<size_t>(scoring.targets),
          0.0F),
      shocks_(static_cast<size_t>(scoring.targets)) {}

void ResidualTracker::Observe(std::span<const float> residuals,
                              std::span<const float> change,
                              std::span<float> explained,
                              std::span<float> views) {
  Explain(residuals, explained);
  const ViewLayout layout = scoring_->layout();
  for (int c = 0; c < layout.targets; ++c) {
    views[layout.Magnitude(c)] = std::abs(explained[scoring_->Index(0, c)]);
  }
  averages_.Push(conditional_,
                 views.subspan(layout.Average(0, 0), conditional_.size()));
  ObserveAbsence(change, explained, views);
  ++count_;
}

void ResidualTracker::Explain(std::span<const float> residuals,
                              std::span<float> explained) {
  const ResidualScoring& s = *scoring_;
  const auto targets = static_cast<size_t>(s.targets);
  for (int h = 0; h < s.horizons; ++h) {
    const size_t base = s.Index(h, 0);
    for (size_t c = 0; c < targets; ++c) {
      // A clamp leaves NaN, a missing residual, as it is.
      const float q = std::clamp(residuals[base + c] / s.deviation[base + c],
                                 -kMaxDeviations, kMaxDeviations);
      explained[base + c] = q;
      shocks_[c] = std::isnan(q) ? 0
                                 : std::clamp(q, -ResidualScoring::kMaxShock,
                                              ResidualScoring::kMaxShock);
    }
    for (size_t c = 0; c < targets; ++c) {
      float& q = explained[base + c];
      conditional_[base + c] = q;
      if (std::isnan(q)) continue;
      conditional_[base + c] =
          std::clamp(q - Foretell(s.coupling, base + c),
                     -ResidualScoring::kMaxShock, ResidualScoring::kMaxShock);
      const float foretold = Foretell(s.mixing, base + c);
      if (std::abs(q - foretold) < std::abs(q)) q -= foretold;
    }
  }
}

float ResidualTracker::Foretell(const std::vector<float>& weights,
                                size_t row) const {
  float foretold = 0;
  for (size_t other = 0; other < shocks_.size(); ++other) {
    foretold += weights[row * shocks_.size() + other] * shocks_[other];
  }
  return foretold;
}

// Of two explanations of a sample, that the effect came as forecast and that
// the channel stayed as it was, the log likelihood ratio, summed up over
// kAbsenceSpan instants (a cumulative sum as in Page 1954, of finite memory).
void ResidualTracker::ObserveAbsence(std::span<const float> change,
                                     std::span<const float> explained,
                                     std::span<float> views) {
  const ResidualScoring& s = *scoring_;
  const auto targets = static_cast<size_t>(s.targets);
  const auto slot = static_cast<size_t>(count_ % ResidualScoring::kAbsenceSpan);
  const size_t base = s.Index(s.reference, 0);
  for (size_t c = 0; c < targets; ++c) {
    const float q = explained[base + c];
    const float u = change[c] / s.deviation[base + c];
    const float ratio = (q * q - (q + u) * (q + u)) / 2;
    absence_[slot * targets + c] =
        std::isnan(ratio) ? 0 : std::clamp(ratio, -kMostAbsence, kMostAbsence);
  }
  for (size_t c = 0; c < targets; ++c) {
    float sum = 0;
    for (size_t age = 0; age < ResidualScoring::kAbsenceSpan; ++age) {
      const size_t row = (slot + ResidualScoring::kAbsenceSpan - age) %
                         ResidualScoring::kAbsenceSpan;
      sum += absence_[row * targets + c];
    }
    views[s.layout().Absence(static_cast<int>(c))] =
        std::isnan(explained[base + c]) ? explained[base + c]
                                        : std::max(sum, 0.0F);
  }
}

void ResidualTracker::Save(std::string& bytes) const {
  AppendBytes(&count_, 1, bytes);
  averages_.Save(bytes);
  AppendBytes(absence_, bytes);
}

bool ResidualTracker::Restore(std::string_view& bytes) {
  return TakeBytes(bytes, &count_, 1) && averages_.Restore(bytes) &&
         TakeBytes(bytes, absence_) && count_ >= 0;
}

}  // namespace telltale::model
