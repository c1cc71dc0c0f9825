#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/scoring/evidence.h"
#include "model/scoring/moving_averages.h"
#include "model/scoring/novelty.h"
#include "model/scoring/residual_scoring.h"
#include "model/scoring/slow_means.h"

namespace telltale::model {

// What is known of an instant once it has met its forecasts.
struct Observation {
  std::span<const float> residuals;  // [m, T], scaled units; NaN: none
  // [T]: by how much the forecast of the reference horizon departs from what
  // the channel was when it was made; NaN: none.
  std::span<const float> change;
  std::span<const float> samples;  // [T], scaled; NaN: missing
  // Of each channel followed, where it is known better than by following the
  // stream; otherwise empty.
  std::span<const Novelty> novelty = {};
};

// What is seen of it.
struct InstantViews {
  std::vector<float> explained;   // [m, T]: residuals explained, in deviations
  std::vector<float> views;       // ViewLayout
  std::vector<float> magnitudes;  // [kSlowViews * T]: what slow views are of

  explicit InstantViews(const ResidualScoring& scoring);
};

// Follows one stream. What it says of an instant depends on the last
// kReplayLength instants.
class ViewTracker {
 public:
  static constexpr int kReplayLength =
      NoveltyScoring::kFarthestLag + NoveltyScoring::kTaps + SlowMeans::kTaps;

  // Views the scoring, of which curves are not used.
  explicit ViewTracker(const Scoring& scoring);

  void Observe(const Observation& observation, InstantViews& seen);

  void Save(std::string& bytes) const;
  bool Restore(std::string_view& bytes);

 private:
  const Scoring* scoring_;
  ResidualTracker residuals_;
  MovingAverages levels_;
  NoveltyTracker novelty_;
  SlowMeans means_;
  std::vector<float> samples_;                // [T], bounded, scratch
  std::vector<Novelty> distances_;            // [followed], scratch
  std::vector<float> packed_, packed_means_;  // columns of means_, scratch
};

}  // namespace telltale::model
