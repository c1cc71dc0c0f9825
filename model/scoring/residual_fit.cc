#include "model/scoring/residual_fit.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace telltale::model {
namespace {

// The least deviation of a residual, in its channel's unit: what moves less
// than two hundredths of it is noise of the digits.
constexpr float kLeastDeviation = 0.02F;

// The share of instants that count as shocks. The ridges of the regressions
// among them and among all instants, as shares of the mean square.
constexpr double kShockShare = 0.05;
constexpr double kShockRidge = 0.1;
constexpr double kRidge = 0.01;

// The standard deviation that the central nine tenths would have if normal.
float RobustDeviation(std::vector<float>& magnitudes, float least) {
  if (magnitudes.empty()) return 1;
  const auto place =
      magnitudes.begin() +
      static_cast<int64_t>(0.9 * static_cast<double>(magnitudes.size() - 1));
  std::nth_element(magnitudes.begin(), place, magnitudes.end());
  return std::max(*place / 1.645F, least);
}

void FitDeviations(std::span<const SegmentResiduals> segments,
                   std::span<const float> units, ResidualScoring& scoring) {
  for (size_t i = 0; i < scoring.deviation.size(); ++i) {
    std::vector<float> magnitudes;
    for (const SegmentResiduals& segment : segments) {
      for (int64_t t = segment.held_out_begin; t < segment.residuals.rows();
           ++t) {
        const float r = segment.residuals.Row(t)[i];
        if (!std::isnan(r)) magnitudes.push_back(std::abs(r));
      }
    }
    scoring.deviation[i] =
        RobustDeviation(magnitudes, kLeastDeviation * units[i % units.size()]);
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

// Calls visit(row[T]) with the residuals of a horizon in deviations, instant by
// instant; a missing one is zero.
template <typename Visit>
void ForEachInstant(std::span<const SegmentResiduals> segments, int horizon,
                    const ResidualScoring& scoring, const Visit& visit) {
  const size_t base = scoring.Index(horizon, 0);
  std::vector<float> row(static_cast<size_t>(scoring.targets));
  for (const SegmentResiduals& segment : segments) {
    for (int64_t t = 0; t < segment.residuals.rows(); ++t) {
      for (size_t c = 0; c < row.size(); ++c) {
        const float q =
            segment.residuals.Row(t)[base + c] / scoring.deviation[base + c];
        row[c] = std::isnan(q) ? 0
                               : std::clamp(q, -ResidualScoring::kMaxShock,
                                            ResidualScoring::kMaxShock);
      }
      visit(row);
    }
  }
}

float Size(const std::vector<float>& row) {
  float size = 0;
  for (const float q : row) size = std::max(size, std::abs(q));
  return size;
}

// The size that the shocks of a horizon reach.
float LeastShock(std::span<const SegmentResiduals> segments, int horizon,
                 const ResidualScoring& scoring) {
  std::vector<float> sizes;
  ForEachInstant(segments, horizon, scoring,
                 [&](const auto& row) { sizes.push_back(Size(row)); });
  if (sizes.empty()) return 0;
  const auto place = sizes.begin() + static_cast<int64_t>(
                                         (1 - kShockShare) *
                                         static_cast<double>(sizes.size() - 1));
  std::nth_element(sizes.begin(), place, sizes.end());
  return *place;
}

// For one horizon: each channel's ridge regression on the others over the
// instants whose largest residual is at least `least`. With G = X'X + ridge and
// P its inverse, channel c's weights on the others are -P[c, other] / P[c, c].
void Regress(std::span<const SegmentResiduals> segments, int horizon,
             float least, double ridge_share, const ResidualScoring& scoring,
             std::vector<float>& weights) {
  const auto targets = static_cast<size_t>(scoring.targets);
  std::vector<double> gram(targets * targets, 0.0);
  ForEachInstant(segments, horizon, scoring, [&](const auto& row) {
    if (Size(row) < least) return;
    for (size_t i = 0; i < targets; ++i) {
      for (size_t j = 0; j < targets; ++j) {
        gram[i * targets + j] += static_cast<double>(row[i]) * row[j];
      }
    }
  });
  double trace = 0;
  for (size_t i = 0; i < targets; ++i) trace += gram[i * targets + i];
  const double ridge =
      ridge_share * trace / static_cast<double>(targets) + 1e-6;
  for (size_t i = 0; i < targets; ++i) gram[i * targets + i] += ridge;
  InvertInPlace(gram, targets);
  const size_t base = scoring.Index(horizon, 0);
  for (size_t c = 0; c < targets; ++c) {
    for (size_t other = 0; other < targets; ++other) {
      weights[(base + c) * targets + other] =
          c == other ? 0
                     : static_cast<float>(-gram[c * targets + other] /
                                          gram[c * targets + c]);
    }
  }
}

}  // namespace

bool SegmentResiduals::IsKnown(int64_t t) const {
  const std::span<const float> row(residuals.Row(t),
                                   static_cast<size_t>(residuals.columns()));
  return std::ranges::any_of(row, [](float r) { return !std::isnan(r); });
}

void FitResiduals(std::span<const SegmentResiduals> segments,
                  std::span<const float> units, ResidualScoring& scoring) {
  const size_t width = scoring.Index(scoring.horizons, 0);
  scoring.deviation.assign(width, 1.0F);
  for (std::vector<float>* weights : {&scoring.mixing, &scoring.coupling}) {
    weights->assign(width * static_cast<size_t>(scoring.targets), 0.0F);
  }
  FitDeviations(segments, units, scoring);
  for (int h = 0; h < scoring.horizons; ++h) {
    Regress(segments, h, LeastShock(segments, h, scoring), kShockRidge, scoring,
            scoring.mixing);
    Regress(segments, h, 0, kRidge, scoring, scoring.coupling);
  }
}

}  // namespace telltale::model
