#include "model/scoring/tail_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"

namespace telltale::model {
namespace {

// Where the Pareto tail begins, as a probability of exceeding.
constexpr double kTailProbability = 0.02;
// Bounds of the tail's shape: 0 is exponential; heavier than 0.5 has no
// variance, and a sample's tail is not to be trusted with that.
constexpr double kMaxShape = 0.5;

constexpr float kLargest = std::numeric_limits<float>::max();

// Probability of exceeding the quantile `i` of a curve: equal steps in
// log probability from 1 to kTailProbability.
double Exceedance(int i) {
  return std::pow(kTailProbability,
                  static_cast<double>(i) / (TailCurve::kQuantiles - 1));
}

const float* ShapeOf(const std::vector<float>& values) {
  return &values[TailCurve::kQuantiles];
}

}  // namespace

TailCurve::TailCurve() : values_(kSize, kLargest) {
  values_[kQuantiles] = 0;
  values_[kQuantiles + 1] = 1;
}

TailCurve TailCurve::Fit(std::span<float> values, float floor) {
  TailCurve curve;
  if (values.empty()) return curve;
  std::ranges::sort(values);
  const double last = static_cast<double>(values.size() - 1);
  for (int i = 0; i < kQuantiles; ++i) {
    const double place = (1 - Exceedance(i)) * last;
    const auto below = static_cast<size_t>(place);
    const size_t above = std::min(below + 1, values.size() - 1);
    const double fraction = place - static_cast<double>(below);
    curve.values_[static_cast<size_t>(i)] = static_cast<float>(
        values[below] * (1 - fraction) + values[above] * fraction);
  }

  // Shape and scale of the excesses by probability-weighted moments (Hosking
  // & Wallis 1987): a0 the mean, a1 the mean weighted by 1 - rank.
  const float start = curve.values_[kQuantiles - 1];
  const auto first = static_cast<size_t>(
      std::ranges::upper_bound(values, start) - values.begin());
  const size_t n = values.size() - first;
  double a0 = 0;
  double a1 = 0;
  for (size_t i = 0; i < n; ++i) {
    const double excess = values[first + i] - start;
    const double rank =
        (static_cast<double>(i) + 0.65) / static_cast<double>(n);
    a0 += excess / static_cast<double>(n);
    a1 += excess * (1 - rank) / static_cast<double>(n);
  }
  double shape = 0.1;
  double scale = a0;
  if (n >= 10 && a0 > 2 * a1 && a1 > 0) {
    shape = std::clamp(2 - a0 / (a0 - 2 * a1), 0.0, kMaxShape);
    scale = a0 * (1 - shape);
  }
  curve.values_[kQuantiles] = static_cast<float>(shape);
  curve.values_[kQuantiles + 1] =
      std::max({static_cast<float>(scale), floor, 1e-6F});
  return curve;
}

absl::Status TailCurve::Check(std::span<const float> values) {
  bool valid = values.size() == kSize;
  for (size_t i = 0; valid && i < values.size(); ++i) {
    valid = std::isfinite(values[i]) &&
            (i == 0 || i >= kQuantiles || values[i - 1] <= values[i]);
  }
  valid = valid && values[kQuantiles] >= 0 && values[kQuantiles] <= 1 &&
          values[kQuantiles + 1] > 0;
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "a tail curve must be %d finite numbers: rising quantiles, a shape in "
      "[0, 1] and a positive scale",
      kSize));
}

TailCurve TailCurve::FromValues(std::span<const float> values) {
  TailCurve curve;
  curve.values_.assign(values.begin(), values.end());
  return curve;
}

float TailCurve::Evidence(float v) const {
  constexpr double kStep =
      1.69897000433601880479 / (kQuantiles - 1);  // log10(1 / 0.02)
  const auto quantiles = std::span(values_).first(kQuantiles);
  // Of equal quantiles the first: a value that is as common as that surprises
  // no more.
  if (const auto equal = std::ranges::lower_bound(quantiles, v);
      equal != quantiles.end() && *equal == v) {
    return static_cast<float>(kStep *
                              static_cast<double>(equal - quantiles.begin()));
  }
  const auto above = std::ranges::upper_bound(quantiles, v);
  if (above == quantiles.begin()) return 0;
  const auto i = static_cast<int>(above - quantiles.begin()) - 1;
  if (i < kQuantiles - 1) {
    const double low = quantiles[static_cast<size_t>(i)];
    const double high = quantiles[static_cast<size_t>(i) + 1];
    return static_cast<float>(kStep * (i + (v - low) / (high - low)));
  }
  const double shape = *ShapeOf(values_);
  const double scale = values_[kQuantiles + 1];
  const double excess =
      (static_cast<double>(v) - quantiles[kQuantiles - 1]) / scale;
  const double decades =
      shape < 1e-4 ? excess / std::log(10.0)
                   : std::log1p(shape * excess) / (shape * std::log(10.0));
  return static_cast<float>(
      std::min<double>(kStep * (kQuantiles - 1) + decades, kLargest));
}

}  // namespace telltale::model
