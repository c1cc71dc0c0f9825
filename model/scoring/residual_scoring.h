#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/scoring/tail_curve.h"

namespace telltale::model {

// From residuals to evidence. Sizes: m horizons, T channels forecast.
//
// A residual is what was observed minus its forecast, in scaled units. Each is
// first explained away: shocks of one channel show in others at the same
// instant, and a ridge regression fitted on the largest shocks of training
// foretells by how much; what it explains is taken off where that makes the
// residual smaller. Then two views of it, its magnitude and that of its moving
// average, are turned into evidence, -log10 of their tail probability.
struct ResidualScoring {
  // Taps of the moving average: exponential weights, cut off so that a state
  // can be rebuilt from a finite past.
  static constexpr int kAverageTaps = 48;
  static constexpr float kAverageDecay = 0.9F;

  int horizons = 0;                  // m
  int targets = 0;                   // T
  std::vector<float> deviation;      // [m, T]: of residuals, in scaled units
  std::vector<float> mixing;         // [m, T, T]: row c foretells c from others
  std::vector<TailCurve> magnitude;  // [m * T]
  std::vector<TailCurve> average;    // [m * T]

  size_t Index(int horizon, int target) const {
    return static_cast<size_t>(horizon) * static_cast<size_t>(targets) +
           static_cast<size_t>(target);
  }
};

// What one channel's residuals at one instant amount to.
struct ChannelEvidence {
  float evidence = 0;    // largest over horizons and views
  int horizon = -1;      // index of the horizon it comes from; -1: no residual
  float deviations = 0;  // that horizon's explained residual over deviation
};

// Follows the residuals of one stream. Finite memory: what it says depends on
// the last kAverageTaps instants.
class ResidualTracker {
 public:
  explicit ResidualTracker(const ResidualScoring& scoring);

  // Takes the residuals[m, T] of the next instant (NaN: none) and writes the
  // explained residuals over their deviation, [m, T], and their moving
  // averages, [m, T]; a missing residual counts as zero in the average.
  void Explain(std::span<const float> residuals, std::span<float> explained,
               std::span<float> averages);

  // Evidence of each channel [T] from what Explain wrote.
  static void Judge(const ResidualScoring& scoring,
                    std::span<const float> explained,
                    std::span<const float> averages,
                    std::span<ChannelEvidence> channels);

  void Save(std::string& bytes) const;
  bool Restore(std::string_view& bytes);

 private:
  const ResidualScoring* scoring_;
  std::vector<float> history_;  // [kAverageTaps, m * T], a ring
  int64_t count_ = 0;
};

}  // namespace telltale::model
