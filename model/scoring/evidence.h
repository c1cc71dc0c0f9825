#pragma once

#include <span>
#include <vector>

#include "model/scoring/novelty.h"
#include "model/scoring/residual_scoring.h"
#include "model/scoring/tail_curve.h"
#include "model/scoring/views.h"

namespace telltale::model {

// How the views of an instant become evidence: each view's tail probability
// under nominal operation, as -log10, from a curve of its own.
//
// A channel's evidence is the largest over the views of its residuals and its
// level, averaged with the mean over its views of novelty, which weighs
// `novelty.weight`.
struct Scoring {
  ResidualScoring residuals;
  NoveltyScoring novelty;
  std::vector<TailCurve> curves;         // one a view
  std::vector<TailCurve> lagged_curves;  // [kSlowViews * T], of LaggedMeans
};

// What one channel's views at one instant amount to.
struct ChannelEvidence {
  float evidence = 0;   // of all views
  int horizon = -1;     // that tells most by its residual; -1: no residual
  float magnitude = 0;  // of its own residual, in deviations
};

// The evidence of each channel [T] from the views of an instant.
void JudgeViews(const Scoring& scoring, std::span<const float> views,
                std::span<ChannelEvidence> channels);

// The largest evidence of the views that are not slow, for each channel [T];
// negative where there is no residual.
void JudgeFastViews(const Scoring& scoring, std::span<const float> views,
                    std::span<float> fast);

// The evidence of each channel [T] from that of its fast views and from slow
// ones [kSlowViews * T] that look ahead.
void JudgeLaggedViews(const Scoring& scoring, std::span<const float> fast,
                      std::span<const float> slow, std::span<float> evidence);

}  // namespace telltale::model
