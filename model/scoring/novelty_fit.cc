#include "model/scoring/novelty_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace telltale::model {
namespace {

constexpr int kTaps = NoveltyScoring::kTaps;

// Adds to squares[i] and sums[i] those of the difference to point i.
void Compare(std::span<const float> point, const Matrix& points,
             std::vector<float>& squares, std::vector<float>& sums) {
  squares.assign(static_cast<size_t>(points.columns()), 0.0F);
  sums.assign(squares.size(), 0.0F);
  for (int tap = 0; tap < kTaps; ++tap) {
    const float x = point[static_cast<size_t>(tap)];
    const float* row = points.Row(tap);
    for (size_t i = 0; i < squares.size(); ++i) {
      const float difference = x - row[i];
      squares[i] += difference * difference;
      sums[i] += difference;
    }
  }
}

std::vector<float> Column(const Matrix& matrix, size_t column) {
  std::vector<float> values;
  for (int64_t row = 0; row < matrix.rows(); ++row) {
    values.push_back(matrix.Row(row)[column]);
  }
  return values;
}

}  // namespace

void PointAt(std::span<const float> samples, int64_t t,
             std::span<float> point) {
  for (int tap = 0; tap < kTaps; ++tap) {
    const int64_t row = std::max<int64_t>(0, t - (kTaps - 1) + tap);
    point[static_cast<size_t>(tap)] = samples[static_cast<size_t>(row)];
  }
}

PointSet::PointSet(std::span<const Part> parts) {
  int64_t rows = 0;
  for (const Part& part : parts) rows += part.end - part.begin;
  const int64_t stride = (rows + kMostPoints - 1) / kMostPoints;
  std::array<float, kTaps> point;
  std::vector<std::array<float, kTaps>> found;
  for (const Part& part : parts) {
    for (int64_t t = part.begin; t < part.end; t += stride) {
      PointAt(part.samples, t, point);
      found.push_back(point);
      places_.push_back({part.segment, t});
    }
  }
  points_.Resize(kTaps, static_cast<int64_t>(found.size()));
  for (size_t i = 0; i < found.size(); ++i) {
    for (size_t tap = 0; tap < kTaps; ++tap) {
      points_.Row(static_cast<int64_t>(tap))[i] = found[i][tap];
    }
  }
}

Matrix PointSet::ChooseBank() const {
  const auto count = static_cast<size_t>(points_.columns());
  if (count == 0) return {};
  std::vector<float> mean;
  for (int64_t tap = 0; tap < kTaps; ++tap) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) sum += points_.Row(tap)[i];
    mean.push_back(static_cast<float>(sum / static_cast<double>(count)));
  }
  std::vector<float> squares;
  std::vector<float> sums;
  std::vector<float> nearest(count, std::numeric_limits<float>::max());
  std::vector<size_t> chosen;
  Compare(mean, points_, squares, sums);
  auto farthest =
      static_cast<size_t>(std::ranges::max_element(squares) - squares.begin());
  while (true) {
    chosen.push_back(farthest);
    Compare(Column(points_, farthest), points_, squares, sums);
    for (size_t i = 0; i < count; ++i) {
      nearest[i] = std::min(nearest[i], squares[i]);
    }
    farthest = static_cast<size_t>(std::ranges::max_element(nearest) -
                                   nearest.begin());
    if (nearest[farthest] <= 0) break;
    if (chosen.size() == NoveltyScoring::kBankSize) break;
  }
  Matrix bank(kTaps, static_cast<int64_t>(chosen.size()));
  for (int64_t tap = 0; tap < kTaps; ++tap) {
    for (size_t i = 0; i < chosen.size(); ++i) {
      bank.Row(tap)[i] = points_.Row(tap)[chosen[i]];
    }
  }
  return bank;
}

Novelty PointSet::DistanceFromOthers(std::span<const float> samples, int64_t t,
                                     int segment) const {
  std::array<float, kTaps> point;
  PointAt(samples, t, point);
  std::vector<float> squares;
  std::vector<float> sums;
  Compare(point, points_, squares, sums);
  float nearest = std::numeric_limits<float>::max();
  float shape = nearest;
  for (size_t i = 0; i < squares.size(); ++i) {
    if (places_[i].segment == segment &&
        std::abs(places_[i].row - t) < NoveltyScoring::kNearestLag) {
      continue;
    }
    nearest = std::min(nearest, squares[i]);
    shape = std::min(shape, squares[i] - sums[i] * sums[i] / kTaps);
  }
  if (nearest == std::numeric_limits<float>::max()) return {};
  const float distance = std::sqrt(nearest / kTaps);
  return {distance, std::sqrt(std::max(shape, 0.0F) / kTaps), distance};
}

float NoveltyWeight(float residual_range, float novelty_range, bool few) {
  constexpr float kLeast = 0.01F;
  constexpr float kLeastOfFew = 2;
  const float ratio = (residual_range + kLeast) / (novelty_range + kLeast);
  return std::clamp(0.25F * (std::pow(ratio, 0.75F) - 2),
                    few ? kLeastOfFew : 0.0F, 6.0F);
}

}  // namespace telltale::model
