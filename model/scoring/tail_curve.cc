#include "model/scoring/tail_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"

#include "model/scoring/threshold.h"

namespace telltale::model {
namespace {

// The tail begins where this many values are above, or this share of them,
// whichever is farther out. Near the body a statistic may mix noise with what
// disturbs it now and then, and a tail fitted there is of neither.
constexpr double kTailValues = 400;
constexpr double kTailShare = 0.02;
// Of few values a tail takes more, down to so many, if no more than this share.
constexpr double kLeastTailValues = 40;
constexpr double kLargestTailShare = 0.1;

// Bounds of the tail's shape: 0 is exponential; heavier than 0.5 has no
// variance, and a sample's tail is not to be trusted with that.
constexpr double kMaxShape = 0.5;
// What is known of a shape before anything was seen, and the values that this
// is worth: a few excesses look alike, and the next one does not.
constexpr double kPriorShape = 0.5;
constexpr double kPriorValues = 40;
// Where nothing was ever above the start, the floor is the scale and no sample
// is to be distrusted: nearly exponential.
constexpr double kStillShape = 0.1;

constexpr float kLargest = std::numeric_limits<float>::max();

// Places of a curve's floats after the quantiles.
constexpr size_t kShape = TailCurve::kQuantiles;
constexpr size_t kScale = TailCurve::kQuantiles + 1;
constexpr size_t kTailBegin = TailCurve::kQuantiles + 2;
constexpr size_t kEventDecades = TailCurve::kQuantiles + 3;

// Where a tenth of the instants are above, events are counted in full; there
// are none to speak of where nearly all are.
constexpr double kEventsFrom = 1;

}  // namespace

TailCurve::TailCurve() : values_(kSize, kLargest) {
  values_[kShape] = 0;
  values_[kScale] = 1;
  values_[kTailBegin] = 1;
  values_[kEventDecades] = 0;
}

TailCurve TailCurve::Fit(std::span<float> values, float floor) {
  TailCurve curve;
  if (values.empty()) return curve;
  std::ranges::sort(values);
  const double last = static_cast<double>(values.size() - 1);
  const auto count = static_cast<double>(values.size());
  const double tail_share =
      std::max(std::min(kTailShare, kTailValues / count),
               std::min(kLargestTailShare, kLeastTailValues / count));
  curve.values_[kTailBegin] = static_cast<float>(-std::log10(tail_share));
  for (int i = 0; i < kQuantiles; ++i) {
    // Equal steps in log probability.
    const double above_here =
        std::pow(tail_share, static_cast<double>(i) / (kQuantiles - 1));
    const double place = (1 - above_here) * last;
    const auto below = static_cast<size_t>(place);
    const size_t above = std::min(below + 1, values.size() - 1);
    const double fraction = place - static_cast<double>(below);
    curve.values_[static_cast<size_t>(i)] = static_cast<float>(
        values[below] * (1 - fraction) + values[above] * fraction);
  }

  // Shape and scale of the excesses by probability-weighted moments (Hosking
  // & Wallis 1987): a0 the mean, a1 the mean weighted by 1 - rank.
  const float start = curve.tail_start();
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
  double shape = kStillShape;
  if (n > 0) {
    // a1 is below half of a0: ranks rise with the excesses and never reach 1.
    shape = std::clamp(2 - a0 / (a0 - 2 * a1), 0.0, kMaxShape);
    const auto seen = static_cast<double>(n);
    shape = (seen * shape + kPriorValues * kPriorShape) / (seen + kPriorValues);
  }
  const double scale = a0 * (1 - shape);
  curve.values_[kShape] = static_cast<float>(shape);
  curve.values_[kScale] = std::max({static_cast<float>(scale), floor, 1e-6F});
  return curve;
}

TailCurve TailCurve::FitEvents(std::span<const float> values, float floor) {
  std::vector<float> known;
  for (const float value : values) {
    if (!std::isnan(value)) known.push_back(value);
  }
  TailCurve curve = Fit(known, floor);
  const float start = curve.tail_start();
  const auto above = static_cast<double>(
      std::ranges::count_if(known, [start](float v) { return v > start; }));
  const auto events = static_cast<double>(CountEvents(values, start));
  // One more of each: a few instants must not claim to be one event.
  curve.values_[kEventDecades] =
      static_cast<float>(std::log10((above + 1) / (events + 1)));
  return curve;
}

absl::Status TailCurve::Check(std::span<const float> values) {
  bool valid = values.size() == kSize;
  for (size_t i = 0; valid && i < values.size(); ++i) {
    valid = std::isfinite(values[i]) &&
            (i == 0 || i >= kQuantiles || values[i - 1] <= values[i]);
  }
  valid = valid && values[kShape] >= 0 && values[kShape] <= 1 &&
          values[kScale] > 0 && values[kTailBegin] >= 0 &&
          values[kEventDecades] >= 0;
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "a tail curve must be %d finite numbers: rising quantiles, a shape in "
      "[0, 1], a positive scale, and decades of 0 or more",
      kSize));
}

TailCurve TailCurve::FromValues(std::span<const float> values) {
  TailCurve curve;
  curve.values_.assign(values.begin(), values.end());
  return curve;
}

float TailCurve::Evidence(float v) const {
  const double decades = Decades(v);
  const double rarer =
      values_[kEventDecades] * std::min(1.0, decades / kEventsFrom);
  return static_cast<float>(std::min<double>(decades + rarer, kLargest));
}

// -log10 P(V > v).
double TailCurve::Decades(float v) const {
  const double step = values_[kTailBegin] / (kQuantiles - 1);
  const auto quantiles = std::span(values_).first(kQuantiles);
  // Of equal quantiles the first: a value that is as common as that surprises
  // no more.
  if (const auto equal = std::ranges::lower_bound(quantiles, v);
      equal != quantiles.end() && *equal == v) {
    return step * static_cast<double>(equal - quantiles.begin());
  }
  const auto above = std::ranges::upper_bound(quantiles, v);
  if (above == quantiles.begin()) return 0;
  const auto i = static_cast<int>(above - quantiles.begin()) - 1;
  if (i < kQuantiles - 1) {
    const double low = quantiles[static_cast<size_t>(i)];
    const double high = quantiles[static_cast<size_t>(i) + 1];
    return step * (i + (v - low) / (high - low));
  }
  const double shape = values_[kShape];
  const double excess =
      (static_cast<double>(v) - tail_start()) / values_[kScale];
  return values_[kTailBegin] +
         (shape < 1e-4 ? excess / std::log(10.0)
                       : std::log1p(shape * excess) / (shape * std::log(10.0)));
}

}  // namespace telltale::model
