#include "model/scoring/evidence.h"

#include <algorithm>
#include <cmath>

namespace telltale::model {
namespace {

// A channel's evidence from the largest of its fast views and its slow views,
// of which `slow` holds kSlowViews rows of T, judged by as many `curves`.
float Combine(const Scoring& scoring, int target, float fast,
              std::span<const float> slow, std::span<const TailCurve> curves) {
  const auto targets = static_cast<size_t>(scoring.residuals.targets);
  const auto evidence = [&](SlowView view) {
    const size_t i =
        static_cast<size_t>(view) * targets + static_cast<size_t>(target);
    return curves[i].Evidence(slow[i]);
  };
  const float residual = std::max(fast, evidence(SlowView::kResidual));
  const float weight = scoring.novelty.weight[static_cast<size_t>(target)];
  if (weight <= 0) return residual;
  const float novelty =
      (evidence(SlowView::kHabituated) + evidence(SlowView::kShape) +
       evidence(SlowView::kDistance)) /
      3;
  return (residual + weight * novelty) / (1 + weight);
}

// The largest evidence of a channel's fast views; sets the horizon that has
// the most of it (-1: no residual).
float Fastest(const Scoring& scoring, std::span<const float> views, int target,
              int& horizon) {
  const ViewLayout layout = scoring.residuals.layout();
  // Nothing seen is less than no evidence.
  const auto evidence = [&](size_t view) {
    return std::isnan(views[view]) ? -1
                                   : scoring.curves[view].Evidence(views[view]);
  };
  horizon = -1;
  float most = -1;
  for (int h = 0; h < layout.horizons; ++h) {
    float of_horizon = evidence(layout.Average(h, target));
    if (h == 0) {
      of_horizon = std::max(of_horizon, evidence(layout.Magnitude(target)));
    }
    if (of_horizon > most) {
      most = of_horizon;
      horizon = h;
    }
  }
  if (horizon < 0) return most;
  return std::max(
      {most, evidence(layout.Absence(target)), evidence(layout.Level(target))});
}

}  // namespace

void JudgeViews(const Scoring& scoring, std::span<const float> views,
                std::span<ChannelEvidence> channels) {
  const ViewLayout layout = scoring.residuals.layout();
  const size_t first_slow = layout.Slow(SlowView::kResidual, 0);
  for (int c = 0; c < layout.targets; ++c) {
    ChannelEvidence& channel = channels[static_cast<size_t>(c)];
    channel = {};
    const float fast = Fastest(scoring, views, c, channel.horizon);
    if (channel.horizon < 0) continue;
    const float magnitude = views[layout.Magnitude(c)];
    channel.magnitude = std::isnan(magnitude) ? 0 : magnitude;
    channel.evidence = Combine(scoring, c, fast, views.subspan(first_slow),
                               std::span(scoring.curves).subspan(first_slow));
  }
}

void JudgeFastViews(const Scoring& scoring, std::span<const float> views,
                    std::span<float> fast) {
  int horizon = -1;
  for (int c = 0; c < scoring.residuals.targets; ++c) {
    fast[static_cast<size_t>(c)] = Fastest(scoring, views, c, horizon);
  }
}

void JudgeLaggedViews(const Scoring& scoring, std::span<const float> fast,
                      std::span<const float> slow, std::span<float> evidence) {
  for (int c = 0; c < scoring.residuals.targets; ++c) {
    const auto i = static_cast<size_t>(c);
    evidence[i] =
        fast[i] < 0 ? 0
                    : Combine(scoring, c, fast[i], slow, scoring.lagged_curves);
  }
}

}  // namespace telltale::model
