#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/scoring/moving_averages.h"
#include "model/scoring/views.h"

namespace telltale::model {

// What residuals are held against. Sizes: m horizons, T channels forecast.
//
// A residual is what was observed minus its forecast, in scaled units. It is
// judged beside the others of its instant, of which two things are made.
//
// The explained residual: a shock of one channel shows in others at once;
// mixing, fitted on the largest shocks of training, foretells by how much, and
// that is taken off where it makes the residual smaller, so that one shock does
// not alarm in every channel.
//
// The conditional residual: coupling, fitted on all instants, foretells a
// channel from the others, and that is always taken off, so that a channel
// which parts from those it goes with shows while each by itself is as usual.
struct ResidualScoring {
  // A residual counts for no more than this many deviations where it bears on
  // others, be it other channels or later instants' averages: one absurd sample
  // is an anomaly of its own instant.
  static constexpr float kMaxShock = 20;
  // Instants over which the absence of an effect is summed up.
  static constexpr int kAbsenceSpan = 24;

  int horizons = 0;              // m
  int targets = 0;               // T
  int reference = 0;             // the horizon of absence and of slow views
  std::vector<float> deviation;  // [m, T]: of residuals, in scaled units
  std::vector<float> mixing;     // [m, T, T]: row c foretells c from others
  std::vector<float> coupling;   // the same

  size_t Index(int horizon, int target) const {
    return static_cast<size_t>(horizon) * static_cast<size_t>(targets) +
           static_cast<size_t>(target);
  }
  ViewLayout layout() const { return {horizons, targets}; }
};

// Follows the residuals of one stream. Finite memory: what it says depends on
// the last kAbsenceSpan instants.
class ResidualTracker {
 public:
  // Views the scoring.
  explicit ResidualTracker(const ResidualScoring& scoring);

  // Takes the residuals[m, T] of the next instant (NaN: none) and the change
  // [T] that the forecast of the reference horizon foretold (NaN: none).
  // Writes the explained residuals over their deviation [m, T] and, of the
  // instant's views, magnitude, averages (of conditional residuals) and
  // absence; they are NaN where the instant's residual is missing, which counts
  // as zero in those that follow.
  void Observe(std::span<const float> residuals, std::span<const float> change,
               std::span<float> explained, std::span<float> views);

  void Save(std::string& bytes) const;
  bool Restore(std::string_view& bytes);

 private:
  void Explain(std::span<const float> residuals, std::span<float> explained);
  // What `row` of weights foretells from the shocks of the instant.
  float Foretell(const std::vector<float>& weights, size_t row) const;
  void ObserveAbsence(std::span<const float> change,
                      std::span<const float> explained, std::span<float> views);

  const ResidualScoring* scoring_;
  std::vector<float> conditional_;  // [m * T], of the instant
  MovingAverages averages_;         // of those
  std::vector<float> absence_;      // [kAbsenceSpan, T], a ring
  std::vector<float> shocks_;       // [T], scratch
  int64_t count_ = 0;
};

}  // namespace telltale::model
