#include "model/scoring/residual_scoring.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/scoring/byte_io.h"

namespace telltale::model {
namespace {

// The weights of the moving average, newest first; they add up to one.
const std::array<float, ResidualScoring::kAverageTaps>& AverageWeights() {
  static const auto kWeights = [] {
    std::array<float, ResidualScoring::kAverageTaps> weights{};
    double sum = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      sum += std::pow(ResidualScoring::kAverageDecay, i);
    }
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] =
          static_cast<float>(std::pow(ResidualScoring::kAverageDecay, i) / sum);
    }
    return weights;
  }();
  return kWeights;
}

// A residual counts for no more than this many deviations where it bears on
// others, be it other channels or later instants' averages: one absurd sample
// is an anomaly of its own instant.
constexpr float kMaxShock = 20;

// Bounds of what one instant says of an effect's absence.
constexpr float kMostAbsence = 8;

// Deviations beyond this are as good as infinite; clamped to stay finite.
constexpr float kMaxDeviations = 1e9F;

}  // namespace

ResidualTracker::ResidualTracker(const ResidualScoring& scoring)
    : scoring_(&scoring),
      conditional_(scoring.deviation.size()),
      history_(ResidualScoring::kAverageTaps * scoring.deviation.size(), 0.0F),
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
  ObserveAverages(views);
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
      shocks_[c] = std::isnan(q) ? 0 : std::clamp(q, -kMaxShock, kMaxShock);
    }
    for (size_t c = 0; c < targets; ++c) {
      float& q = explained[base + c];
      conditional_[base + c] = q;
      if (std::isnan(q)) continue;
      conditional_[base + c] -= Foretell(s.coupling, base + c);
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

void ResidualTracker::ObserveAverages(std::span<float> views) {
  const size_t width = conditional_.size();
  const auto slot = static_cast<size_t>(count_ % ResidualScoring::kAverageTaps);
  float* newest = &history_[slot * width];
  for (size_t i = 0; i < width; ++i) {
    newest[i] = std::isnan(conditional_[i])
                    ? 0
                    : std::clamp(conditional_[i], -kMaxShock, kMaxShock);
  }
  const std::span<float> averages =
      views.subspan(scoring_->layout().Average(0, 0), width);
  std::ranges::fill(averages, 0.0F);
  const auto& weights = AverageWeights();
  for (size_t tap = 0; tap < weights.size(); ++tap) {
    const size_t row = (slot + weights.size() - tap) % weights.size();
    const float* past = &history_[row * width];
    for (size_t i = 0; i < width; ++i) averages[i] += weights[tap] * past[i];
  }
  for (size_t i = 0; i < width; ++i) {
    averages[i] =
        std::isnan(conditional_[i]) ? conditional_[i] : std::abs(averages[i]);
  }
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
  AppendBytes(history_, bytes);
  AppendBytes(absence_, bytes);
}

bool ResidualTracker::Restore(std::string_view& bytes) {
  return TakeBytes(bytes, &count_, 1) && TakeBytes(bytes, history_) &&
         TakeBytes(bytes, absence_) && count_ >= 0;
}

}  // namespace telltale::model
