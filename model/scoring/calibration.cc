#include "model/scoring/calibration.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/scoring/channel_movement.h"
#include "model/scoring/novelty_calibration.h"
#include "model/scoring/slow_means.h"
#include "model/scoring/threshold.h"
#include "model/scoring/view_tracker.h"

namespace telltale::model {
namespace {

// Bounds of a tail's scale: of residuals and of their slow means in deviations,
// of absence in units of its sum, of levels in the channel's unit, of all
// magnitudes in parts of the channel's unit, of evidence in decades. Means over
// minutes hardly range on nominal telemetry; without a bound each real anomaly
// would ring on in them.
constexpr float kResidualTailFloor = 0.1F;
constexpr float kSlowTailFloor = 1;
constexpr float kAbsenceTailFloor = 4;
constexpr float kLevelTailFloor = 0.1F;
constexpr float kUnitTailFloor = 0.02F;
constexpr float kEvidenceTailFloor = 0.1F;

// Parts of the held-out instants, each judged by curves of the others.
constexpr size_t kFolds = 5;

// Of the held-out instants that curves are fitted to, those looking ahead;
// nominal scores kept in the checkpoint. The latest ones count.
constexpr int64_t kMaxLagged = 20'000;
constexpr size_t kMaxNominalScores = 20'000;

// The views of held-out instants, one row each. Rows without residuals, such as
// those of labelled faults, are NaN: nothing is learnt from them. As many as
// end an event follow each segment.
struct HeldOutViews {
  std::vector<std::vector<float>> views;
  // Of some of them: slow views that look ahead, and whose they are.
  std::vector<std::vector<float>> lagged;
  std::vector<size_t> lagged_rows;
};

// The views of one segment's held-out instants, appended.
void ViewSegment(std::span<const SegmentResiduals> segments, size_t i,
                 const Scoring& scoring, HeldOutViews& held_out) {
  const SegmentResiduals& segment = segments[i];
  const int64_t rows = segment.residuals.rows();
  const auto targets = static_cast<size_t>(scoring.residuals.targets);
  const std::vector<float> missing(targets, std::nanf(""));
  const std::vector<std::vector<Novelty>> novelty =
      HeldOutNovelty(segments, i, scoring);
  ViewTracker tracker(scoring);
  InstantViews seen(scoring.residuals);
  const std::vector<float> nothing_seen(seen.views.size(), std::nanf(""));
  Matrix magnitudes(rows, static_cast<int64_t>(seen.magnitudes.size()));
  for (int64_t t = 0; t < rows; ++t) {
    const auto row = [&](const Matrix& matrix) {
      return t < matrix.rows()
                 ? std::span(matrix.Row(t),
                             static_cast<size_t>(matrix.columns()))
                 : std::span(missing);
    };
    Observation observation = {.residuals = row(segment.residuals),
                               .change = row(segment.changes),
                               .samples = row(segment.samples)};
    if (!novelty.empty()) observation.novelty = novelty[static_cast<size_t>(t)];
    tracker.Observe(observation, seen);
    std::ranges::copy(seen.magnitudes, magnitudes.Row(t));
    if (t >= std::max(segment.held_out_begin, rows - kMaxCurveInstants)) {
      held_out.views.push_back(segment.IsKnown(t) ? seen.views : nothing_seen);
    }
  }
  const LaggedMeans means(LaggedMeans::kLargestLag);
  std::vector<float> slow(seen.magnitudes.size());
  const int64_t past_last = static_cast<int64_t>(held_out.views.size());
  for (int64_t t = std::max(segment.held_out_begin, rows - kMaxLagged);
       t < rows; ++t) {
    means.At(magnitudes.view(), t, slow);
    if (!segment.IsKnown(t)) std::ranges::fill(slow, std::nanf(""));
    held_out.lagged.push_back(slow);
    held_out.lagged_rows.push_back(static_cast<size_t>(past_last - (rows - t)));
  }
  std::ranges::fill(slow, std::nanf(""));
  for (int64_t gap = 0; gap < kEventGap; ++gap) {
    held_out.lagged_rows.push_back(held_out.views.size());
    held_out.views.push_back(nothing_seen);
    held_out.lagged.push_back(slow);
  }
}

// Rows [begin, end) of a number of rows.
struct Block {
  size_t begin = 0, end = 0;
  bool Holds(size_t row) const { return begin <= row && row < end; }
};

Block Fold(size_t fold, size_t rows) {
  return {rows * fold / kFolds, rows * (fold + 1) / kFolds};
}

// Fits the curves of held-out instants, with or without a block of them.
class CurveFit {
 public:
  // Views all of them.
  CurveFit(const HeldOutViews& held_out, std::span<const float> units,
           const std::vector<bool>& rests, const EvidenceParts& parts,
           Scoring& scoring)
      : held_out_(held_out),
        units_(units),
        rests_(rests),
        parts_(parts),
        scoring_(scoring) {}

  void FitCurves(const Block& left_out) {
    const ViewLayout layout = scoring_.residuals.layout();
    scoring_.curves.assign(layout.count(), TailCurve());
    for (int c = 0; c < layout.targets; ++c) {
      if (parts_.magnitude) {
        FitCurve(left_out, layout.Magnitude(c), ResidualFloor(0, c));
      }
      for (int h = 0; parts_.average && h < layout.horizons; ++h) {
        FitCurve(left_out, layout.Average(h, c), ResidualFloor(h, c));
      }
      if (parts_.absence) {
        FitCurve(left_out, layout.Absence(c), kAbsenceTailFloor);
      }
      if (parts_.level && rests_[static_cast<size_t>(c)]) {
        FitCurve(left_out, layout.Level(c), LevelFloor(c));
      }
      for (int view = 0; view < kSlowViews; ++view) {
        if (!Follows(view, c)) continue;
        FitCurve(left_out, layout.Slow(static_cast<SlowView>(view), c),
                 SlowFloor(view, c));
      }
    }
  }

  void FitLaggedCurves(const Block& left_out) {
    const auto targets = static_cast<size_t>(scoring_.residuals.targets);
    scoring_.lagged_curves.assign(kSlowViews * targets, TailCurve());
    for (int view = 0; view < kSlowViews; ++view) {
      for (size_t c = 0; c < targets; ++c) {
        if (!Follows(view, static_cast<int>(c))) continue;
        const size_t column = static_cast<size_t>(view) * targets + c;
        values_.clear();
        for (size_t t = 0; t < held_out_.lagged.size(); ++t) {
          values_.push_back(left_out.Holds(t) ? std::nanf("")
                                              : held_out_.lagged[t][column]);
        }
        scoring_.lagged_curves[column] =
            TailCurve::FitEvents(values_, SlowFloor(view, static_cast<int>(c)));
      }
    }
  }

 private:
  void FitCurve(const Block& left_out, size_t view, float floor) {
    values_.clear();
    for (size_t t = 0; t < held_out_.views.size(); ++t) {
      values_.push_back(left_out.Holds(t) ? std::nanf("")
                                          : held_out_.views[t][view]);
    }
    scoring_.curves[view] = TailCurve::FitEvents(values_, floor);
  }

  bool Follows(int view, int target) const {
    return view == static_cast<int>(SlowView::kResidual)
               ? parts_.slow
               : scoring_.novelty.weight[static_cast<size_t>(target)] > 0;
  }

  float ResidualFloor(int horizon, int target) const {
    const ResidualScoring& residuals = scoring_.residuals;
    return std::max(kResidualTailFloor,
                    kUnitTailFloor * units_[static_cast<size_t>(target)] /
                        residuals.deviation[residuals.Index(horizon, target)]);
  }

  float LevelFloor(int target) const {
    return kLevelTailFloor * units_[static_cast<size_t>(target)];
  }

  float SlowFloor(int view, int target) const {
    if (view == static_cast<int>(SlowView::kResidual)) {
      return std::max(kSlowTailFloor,
                      ResidualFloor(scoring_.residuals.reference, target));
    }
    return kUnitTailFloor * units_[static_cast<size_t>(target)];
  }

  const HeldOutViews& held_out_;
  std::span<const float> units_;
  const std::vector<bool>& rests_;
  const EvidenceParts& parts_;
  Scoring& scoring_;
  std::vector<float> values_;
};

// The largest evidence of each held-out instant, NaN: none, judged by curves
// that were fitted without its neighbourhood: curves flatter the extremes they
// were fitted to, and a threshold set on flattered scores is broken by fresh
// ones.
std::vector<float> LargestEvidence(const HeldOutViews& held_out, CurveFit& fit,
                                   Scoring& scoring) {
  std::vector<float> largest;
  std::vector<ChannelEvidence> channels(
      static_cast<size_t>(scoring.residuals.targets));
  for (size_t fold = 0; fold < kFolds; ++fold) {
    const Block block = Fold(fold, held_out.views.size());
    fit.FitCurves(block);
    for (size_t t = block.begin; t < block.end; ++t) {
      JudgeViews(scoring, held_out.views[t], channels);
      bool any = false;
      float most = 0;
      for (const ChannelEvidence& channel : channels) {
        any |= channel.horizon >= 0;
        most = std::max(most, channel.evidence);
      }
      largest.push_back(any ? most : std::nanf(""));
    }
  }
  fit.FitCurves(/*left_out=*/{});
  return largest;
}

// The same looking ahead. Fast views are judged by the curves of all.
std::vector<float> LargestLagged(const HeldOutViews& held_out, CurveFit& fit,
                                 Scoring& scoring) {
  std::vector<float> largest;
  const auto targets = static_cast<size_t>(scoring.residuals.targets);
  std::vector<float> fast(targets);
  std::vector<float> evidence(targets);
  const size_t rows = held_out.lagged.size();
  for (size_t fold = 0; fold < kFolds; ++fold) {
    const Block block = Fold(fold, rows);
    fit.FitLaggedCurves(block);
    for (size_t t = block.begin; t < block.end; ++t) {
      JudgeFastViews(scoring, held_out.views[held_out.lagged_rows[t]], fast);
      JudgeLaggedViews(scoring, fast, held_out.lagged[t], evidence);
      largest.push_back(std::ranges::max(fast) < 0
                            ? std::nanf("")
                            : std::ranges::max(evidence));
    }
  }
  fit.FitLaggedCurves(/*left_out=*/{});
  return largest;
}

// From the largest evidence of nominal instants: what scores mean, and the
// threshold for the budget. Returns the scores.
std::vector<float> SetThreshold(std::span<const float> largest, double budget,
                                TailCurve& combined, ThresholdRecord& record) {
  std::vector<float> known;
  for (const float evidence : largest) {
    if (!std::isnan(evidence)) known.push_back(evidence);
  }
  combined = TailCurve::Fit(known, kEvidenceTailFloor);
  std::vector<float> scores(largest.size());
  std::ranges::transform(largest, scores.begin(), [&](float evidence) {
    return std::isnan(evidence) ? evidence : combined.Evidence(evidence);
  });
  record.budget_per_10k = budget;
  record.threshold = ThresholdForBudget(scores, budget);
  record.instants = static_cast<int64_t>(known.size());
  record.events = CountEvents(scores, record.threshold);
  const CountInterval interval = PoissonInterval(record.events);
  const double per_10k =
      10'000 / static_cast<double>(std::max<int64_t>(1, record.instants));
  record.low_per_10k = interval.low * per_10k;
  record.high_per_10k = interval.high * per_10k;
  std::erase_if(scores, [](float score) { return std::isnan(score); });
  return scores;
}

}  // namespace

void Calibrate(std::span<const SegmentResiduals> segments,
               double false_alarms_per_10k, const EvidenceParts& parts,
               Checkpoint& checkpoint) {
  Scoring& scoring = checkpoint.scoring;
  scoring.residuals.horizons =
      static_cast<int>(checkpoint.config.horizons.size());
  scoring.residuals.targets = checkpoint.config.targets;
  scoring.residuals.reference = checkpoint.config.reference_horizon();
  const std::vector<float> units = Units(segments, checkpoint);
  FitResiduals(segments, units, scoring.residuals);
  if (!parts.explaining) {
    std::ranges::fill(scoring.residuals.mixing, 0.0F);
    std::ranges::fill(scoring.residuals.coupling, 0.0F);
  }
  const auto targets = static_cast<size_t>(scoring.residuals.targets);
  scoring.novelty.weight.assign(targets, 0.0F);
  scoring.novelty.banks.assign(targets, Matrix());
  if (parts.novelty) FitNovelty(segments, units, scoring);

  HeldOutViews held_out;
  for (size_t i = 0; i < segments.size(); ++i) {
    ViewSegment(segments, i, scoring, held_out);
  }
  const std::vector<bool> rests = Rests(segments, checkpoint.config.targets);
  CurveFit fit(held_out, units, rests, parts, scoring);
  std::vector<float> scores = SetThreshold(
      LargestEvidence(held_out, fit, scoring), false_alarms_per_10k,
      checkpoint.combined, checkpoint.threshold);
  if (scores.size() > kMaxNominalScores) {
    scores.erase(scores.begin(),
                 scores.end() - static_cast<int64_t>(kMaxNominalScores));
  }
  checkpoint.nominal_scores = std::move(scores);
  SetThreshold(LargestLagged(held_out, fit, scoring), false_alarms_per_10k,
               checkpoint.lagged_combined, checkpoint.lagged_threshold);
}

}  // namespace telltale::model
