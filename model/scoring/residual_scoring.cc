#include "model/scoring/residual_scoring.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

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

// Deviations beyond this are as good as infinite; clamped to stay finite.
constexpr float kMaxDeviations = 1e9F;

}  // namespace

ResidualTracker::ResidualTracker(const ResidualScoring& scoring)
    : scoring_(&scoring),
      history_(ResidualScoring::kAverageTaps * scoring.deviation.size(), 0.0F) {
}

void ResidualTracker::Explain(std::span<const float> residuals,
                              std::span<float> explained,
                              std::span<float> averages) {
  const ResidualScoring& s = *scoring_;
  const auto targets = static_cast<size_t>(s.targets);
  const size_t width = s.deviation.size();
  std::vector<float> shocks(targets);
  for (int h = 0; h < s.horizons; ++h) {
    const size_t base = s.Index(h, 0);
    for (size_t c = 0; c < targets; ++c) {
      // A clamp leaves NaN, a missing residual, as it is.
      const float q = std::clamp(residuals[base + c] / s.deviation[base + c],
                                 -kMaxDeviations, kMaxDeviations);
      explained[base + c] = q;
      shocks[c] = std::isnan(q) ? 0 : std::clamp(q, -kMaxShock, kMaxShock);
    }
    for (size_t c = 0; c < targets; ++c) {
      float& q = explained[base + c];
      if (std::isnan(q)) continue;
      const float* row = &s.mixing[(base + c) * targets];
      float foretold = 0;
      for (size_t other = 0; other < targets; ++other) {
        foretold += row[other] * shocks[other];
      }
      if (std::abs(q - foretold) < std::abs(q)) q -= foretold;
    }
  }

  const auto slot = static_cast<size_t>(count_ % ResidualScoring::kAverageTaps);
  float* newest = &history_[slot * width];
  for (size_t i = 0; i < width; ++i) {
    newest[i] = std::isnan(explained[i])
                    ? 0
                    : std::clamp(explained[i], -kMaxShock, kMaxShock);
  }
  ++count_;
  std::ranges::fill(averages, 0.0F);
  const auto& weights = AverageWeights();
  for (size_t tap = 0; tap < weights.size(); ++tap) {
    const size_t row = (slot + weights.size() - tap) % weights.size();
    const float* past = &history_[row * width];
    for (size_t i = 0; i < width; ++i) averages[i] += weights[tap] * past[i];
  }
}

void ResidualTracker::Judge(const ResidualScoring& scoring,
                            std::span<const float> explained,
                            std::span<const float> averages,
                            std::span<ChannelEvidence> channels) {
  for (int c = 0; c < scoring.targets; ++c) {
    ChannelEvidence& channel = channels[static_cast<size_t>(c)];
    channel = {};
    for (int h = 0; h < scoring.horizons; ++h) {
      const size_t i = scoring.Index(h, c);
      if (std::isnan(explained[i])) continue;
      const float evidence =
          std::max(scoring.magnitude[i].Evidence(std::abs(explained[i])),
                   scoring.average[i].Evidence(std::abs(averages[i])));
      if (channel.horizon < 0 || evidence > channel.evidence) {
        channel = {evidence, h, explained[i]};
      }
    }
  }
}

void ResidualTracker::Save(std::string& bytes) const {
  bytes.append(reinterpret_cast<const char*>(&count_), sizeof(count_));
  bytes.append(reinterpret_cast<const char*>(history_.data()),
               history_.size() * sizeof(float));
}

bool ResidualTracker::Restore(std::string_view& bytes) {
  const size_t size = history_.size() * sizeof(float);
  if (bytes.size() < sizeof(count_) + size) return false;
  std::memcpy(&count_, bytes.data(), sizeof(count_));
  std::memcpy(history_.data(), bytes.data() + sizeof(count_), size);
  bytes.remove_prefix(sizeof(count_) + size);
  return count_ >= 0;
}

}  // namespace telltale::model
