#include "model/scoring/calibration.h"

#include <algorithm>
#include <cmath>

#include "model/scoring/residual_scoring.h"
#include "model/scoring/threshold.h"

namespace telltale::model {
namespace {

// The least deviation of a residual, in scaled units: what moves less than two
// hundredths of its channel's scale is noise of the digits.
constexpr float kLeastDeviation = 0.02F;

// Bounds of a tail's scale: of residuals in deviations, of evidence in decades.
constexpr float kResidualTailFloor = 0.1F;
constexpr float kEvidenceTailFloor = 0.1F;

// The share of instants that count as shocks, and the ridge of the regression
// among them as a share of the mean square.
constexpr double kShockShare = 0.05;
constexpr double kRidge = 0.1;
constexpr float kMaxShock = 20;

// Parts of the held-out instants, each judged by curves of the others.
constexpr size_t kFolds = 5;

// Nominal scores kept in the checkpoint at the most.
constexpr size_t kMaxNominalScores = 20'000;

// The standard deviation that the central nine tenths would have if normal.
float RobustDeviation(std::vector<float>& magnitudes) {
  if (magnitudes.empty()) return 1;
  const auto place =
      magnitudes.begin() +
      static_cast<int64_t>(0.9 * static_cast<double>(magnitudes.size() - 1));
  std::nth_element(magnitudes.begin(), place, magnitudes.end());
  return std::max(*place / 1.645F, kLeastDeviation);
}

void FitDeviations(std::span<const SegmentResiduals> segments,
                   ResidualScoring& scoring) {
  for (size_t i = 0; i < scoring.deviation.size(); ++i) {
    std::vector<float> magnitudes;
    for (const SegmentResiduals& segment : segments) {
      for (int64_t t = segment.held_out_begin; t < segment.residuals.rows();
           ++t) {
        const float r = segment.residuals.Row(t)[i];
        if (!std::isnan(r)) magnitudes.push_back(std::abs(r));
      }
    }
    scoring.deviation[i] = RobustDeviation(magnitudes);
  }
}

// Inverts the symmetric positive definite n x n matrix in place (Gauss-Jordan
// without pivoting, which such a matrix does not need).
void InvertInPlace(std::vector<double>& matrix, size_t n) {
  for (size_t k = 0; k < n; ++k) {
    const double pivot = matrix[k * n + k];
    for (size_t j = 0; j < n; ++j) matrix[k * n + j] /= pivot;
    matrix[k * n + k] = 1 / pivot;
    for (size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const double factor = matrix[i * n + k];
      matrix[i * n + k] = 0;
      for (size_t j = 0; j < n; ++j) {
        matrix[i * n + j] -= factor * matrix[k * n + j];
      }
    }
  }
}

// For one horizon: each channel's ridge regression on the others over the
// largest shocks. With G = X'X + ridge and P its inverse, channel c's weights
// on the others are -P[c, other] / P[c, c].
void FitMixing(std::span<const SegmentResiduals> segments, int horizon,
               ResidualScoring& scoring) {
  const auto targets = static_cast<size_t>(scoring.targets);
  const size_t base = scoring.Index(horizon, 0);
  std::vector<std::vector<float>> rows;
  std::vector<float> sizes;
  std::vector<float> row(targets);
  for (const SegmentResiduals& segment : segments) {
    for (int64_t t = 0; t < segment.residuals.rows(); ++t) {
      float size = 0;
      for (size_t c = 0; c < targets; ++c) {
        const float q =
            segment.residuals.Row(t)[base + c] / scoring.deviation[base + c];
        row[c] = std::isnan(q) ? 0 : std::clamp(q, -kMaxShock, kMaxShock);
        size = std::max(size, std::abs(row[c]));
      }
      sizes.push_back(size);
      rows.push_back(row);
    }
  }
  if (rows.empty()) return;
  std::vector<float> sorted = sizes;
  const auto place =
      sorted.begin() +
      static_cast<int64_t>((1 - kShockShare) *
                           static_cast<double>(sorted.size() - 1));
  std::nth_element(sorted.begin(), place, sorted.end());
  const float least = *place;

  std::vector<double> gram(targets * targets, 0.0);
  for (size_t t = 0; t < rows.size(); ++t) {
    if (sizes[t] < least) continue;
    for (size_t i = 0; i < targets; ++i) {
      for (size_t j = 0; j < targets; ++j) {
        gram[i * targets + j] += static_cast<double>(rows[t][i]) * rows[t][j];
      }
    }
  }
  double trace = 0;
  for (size_t i = 0; i < targets; ++i) trace += gram[i * targets + i];
  const double ridge = kRidge * trace / static_cast<double>(targets) + 1e-6;
  for (size_t i = 0; i < targets; ++i) gram[i * targets + i] += ridge;
  InvertInPlace(gram, targets);
  for (size_t c = 0; c < targets; ++c) {
    for (size_t other = 0; other < targets; ++other) {
      scoring.mixing[(base + c) * targets + other] =
          c == other ? 0
                     : static_cast<float>(-gram[c * targets + other] /
                                          gram[c * targets + c]);
    }
  }
}

// What every held-out instant's residuals become, one row an instant.
struct Judged {
  std::vector<std::vector<float>> explained, averages;
};

Judged Explain(std::span<const SegmentResiduals> segments,
               const ResidualScoring& scoring) {
  const size_t width = scoring.deviation.size();
  Judged judged;
  std::vector<float> explained(width), averages(width);
  for (const SegmentResiduals& segment : segments) {
    ResidualTracker tracker(scoring);
    for (int64_t t = 0; t < segment.residuals.rows(); ++t) {
      tracker.Explain(std::span(segment.residuals.Row(t), width), explained,
                      averages);
      if (t < segment.held_out_begin) continue;
      judged.explained.push_back(explained);
      judged.averages.push_back(averages);
    }
  }
  return judged;
}

// Rows [begin, end) of what was judged.
struct Block {
  size_t begin = 0, end = 0;
  bool Holds(size_t row) const { return begin <= row && row < end; }
};

// One curve for each column, from all rows but those of a block.
std::vector<TailCurve> FitCurves(const std::vector<std::vector<float>>& rows,
                                 const Judged& judged, const Block& left_out,
                                 size_t width) {
  std::vector<TailCurve> curves;
  std::vector<float> values;
  for (size_t i = 0; i < width; ++i) {
    values.clear();
    for (size_t t = 0; t < rows.size(); ++t) {
      if (left_out.Holds(t) || std::isnan(judged.explained[t][i])) continue;
      values.push_back(std::abs(rows[t][i]));
    }
    curves.push_back(TailCurve::Fit(values, kResidualTailFloor));
  }
  return curves;
}

void FitCurves(const Judged& judged, const Block& left_out,
               ResidualScoring& scoring) {
  const size_t width = scoring.deviation.size();
  scoring.magnitude = FitCurves(judged.explained, judged, left_out, width);
  scoring.average = FitCurves(judged.averages, judged, left_out, width);
}

// The largest evidence of each row of a block that has any.
void AppendLargest(const Judged& judged, const Block& block,
                   const ResidualScoring& scoring,
                   std::vector<float>& largest) {
  std::vector<ChannelEvidence> channels(static_cast<size_t>(scoring.targets));
  for (size_t t = block.begin; t < block.end; ++t) {
    ResidualTracker::Judge(scoring, judged.explained[t], judged.averages[t],
                           channels);
    bool any = false;
    float most = 0;
    for (const ChannelEvidence& channel : channels) {
      any |= channel.horizon >= 0;
      most = std::max(most, channel.evidence);
    }
    if (any) largest.push_back(most);
  }
}

// The largest evidence of every held-out instant, judged by curves that were
// fitted without its neighbourhood: curves flatter the extremes they were
// fitted to, and a threshold set on flattered scores is broken by fresh ones.
std::vector<float> CrossFittedLargest(const Judged& judged,
                                      ResidualScoring& scoring) {
  std::vector<float> largest;
  const size_t rows = judged.explained.size();
  for (size_t fold = 0; fold < kFolds; ++fold) {
    const Block block = {rows * fold / kFolds, rows * (fold + 1) / kFolds};
    FitCurves(judged, block, scoring);
    AppendLargest(judged, block, scoring, largest);
  }
  return largest;
}

}  // namespace

void Calibrate(std::span<const SegmentResiduals> segments,
               double false_alarms_per_10k, Checkpoint& checkpoint) {
  ResidualScoring& scoring = checkpoint.scoring;
  scoring.horizons = static_cast<int>(checkpoint.config.horizons.size());
  scoring.targets = checkpoint.config.targets;
  const auto width = static_cast<size_t>(checkpoint.config.forecast_width());
  scoring.deviation.assign(width, 1.0F);
  scoring.mixing.assign(width * static_cast<size_t>(scoring.targets), 0.0F);
  FitDeviations(segments, scoring);
  for (int h = 0; h < scoring.horizons; ++h) FitMixing(segments, h, scoring);

  const Judged judged = Explain(segments, scoring);
  const std::vector<float> largest = CrossFittedLargest(judged, scoring);
  FitCurves(judged, /*left_out=*/{}, scoring);
  std::vector<float> sorted = largest;
  checkpoint.combined = TailCurve::Fit(sorted, kEvidenceTailFloor);
  std::vector<float> scores(largest.size());
  std::ranges::transform(largest, scores.begin(), [&](float evidence) {
    return checkpoint.combined.Evidence(evidence);
  });

  ThresholdRecord& record = checkpoint.threshold;
  record.budget_per_10k = false_alarms_per_10k;
  record.threshold = ThresholdForBudget(scores, false_alarms_per_10k);
  record.instants = static_cast<int64_t>(scores.size());
  record.events = CountEvents(scores, record.threshold);
  const CountInterval interval = PoissonInterval(record.events);
  const double per_10k =
      10'000 / static_cast<double>(std::max<int64_t>(1, record.instants));
  record.low_per_10k = interval.low * per_10k;
  record.high_per_10k = interval.high * per_10k;
  if (scores.size() > kMaxNominalScores) {
    scores.erase(scores.begin(),
                 scores.end() - static_cast<int64_t>(kMaxNominalScores));
  }
  checkpoint.nominal_scores = std::move(scores);
}

}  // namespace telltale::model
