#include "model/training/window_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/positions.h"

namespace telltale::model {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

// The share of samples dropped one by one, and of windows in which a channel
// falls silent for up to kMaxSilence instants.
constexpr double kDroppedSamples = 0.002;
constexpr double kSilentWindows = 0.15;
constexpr int kMaxSilence = 64;

// Targets are clamped to this magnitude, or the loss would be one sample's.
constexpr float kMaxTarget = 10;

}  // namespace

WindowSampler::WindowSampler(std::span<const data::Series> segments,
                             int64_t cadence_ns, const EncoderConfig& config,
                             const InputEncoding& encoding,
                             const FaultLabels& labels, double input_noise)
    : segments_(segments),
      cadence_ns_(cadence_ns),
      config_(config),
      encoding_(encoding),
      labels_(labels),
      input_noise_(input_noise) {}

Range WindowSampler::Draw(std::span<const Range> ranges, int length,
                          Random& random) const {
  const auto places = [&](const Range& range) {
    return std::max(1, range.length() - length + 1);
  };
  int64_t total = 0;
  for (const Range& range : ranges) total += places(range);
  int64_t place = random.Below(total);
  for (const Range& range : ranges) {
    if (place < places(range)) {
      const int begin = range.begin + static_cast<int>(place);
      return {range.segment, begin, std::min(begin + length, range.end)};
    }
    place -= places(range);
  }
  return ranges.back();
}

void WindowSampler::Fill(const Range& range, const float* stand_in,
                         Random* random, TrainingWindow& window) const {
  const data::Series& series = segments_[static_cast<size_t>(range.segment)];
  const auto channels = static_cast<size_t>(series.channels.size());
  const int n = range.length();
  window.range = range;
  window.samples.assign(
      series.samples.begin() + static_cast<int64_t>(range.begin * channels),
      series.samples.begin() + static_cast<int64_t>(range.end * channels));
  if (random != nullptr) DropSamples(n, *random, window.samples);
  window.x.Resize(n, encoding_.width());
  window.positions.resize(static_cast<size_t>(n));
  for (int t = 0; t < n; ++t) {
    const int instant = range.begin + t;
    window.positions[static_cast<size_t>(t)] =
        Position(series.time_ns[static_cast<size_t>(instant)], cadence_ns_);
    encoding_.Encode(std::span(window.samples).subspan(t * channels, channels),
                     stand_in, window.x.Row(t));
    if (random != nullptr && input_noise_ > 0) {
      encoding_.Perturb(input_noise_, *random, window.x.Row(t));
    }
  }
  FillTargets(window);
  window.fault.clear();
  for (int t = range.begin; t < range.end && !labels_.empty(); ++t) {
    window.fault.push_back(labels_.Holds(range.segment, t));
  }
}

void WindowSampler::DropSamples(int length, Random& random,
                                std::vector<float>& samples) const {
  for (float& sample : samples) {
    if (random.Uniform() < kDroppedSamples) sample = kMissing;
  }
  if (random.Uniform() >= kSilentWindows) return;
  const auto channels = samples.size() / static_cast<size_t>(length);
  const auto channel =
      static_cast<size_t>(random.Below(static_cast<int64_t>(channels)));
  const auto begin = static_cast<size_t>(random.Below(length));
  const size_t end = std::min<size_t>(
      begin + 1 + static_cast<size_t>(random.Below(kMaxSilence)),
      static_cast<size_t>(length));
  for (size_t t = begin; t < end; ++t) {
    samples[t * channels + channel] = kMissing;
  }
}

void WindowSampler::FillTargets(TrainingWindow& window) const {
  const data::Series& series =
      segments_[static_cast<size_t>(window.range.segment)];
  const int n = window.range.length();
  const auto targets = static_cast<size_t>(config_.targets);
  window.target.Resize(n, config_.forecast_width());
  std::vector<float> anchors(targets);
  const auto channels = static_cast<size_t>(series.channels.size());
  for (size_t h = 0; h < config_.horizons.size(); ++h) {
    int ahead = window.range.begin;  // the first instant not before the aim
    for (int t = 0; t < n; ++t) {
      const double aim =
          window.positions[static_cast<size_t>(t)] + config_.horizons[h];
      const auto position = [&](int i) {
        return Position(series.time_ns[static_cast<size_t>(i)], cadence_ns_);
      };
      while (ahead < series.length() && position(ahead) <= aim - kSameInstant) {
        ++ahead;
      }
      const std::span<float> row(window.target.Row(t) + h * targets, targets);
      if (ahead >= series.length() || position(ahead) >= aim + kSameInstant ||
          labels_.Holds(window.range.segment, ahead)) {
        std::ranges::fill(row, kMissing);
        continue;
      }
      encoding_.ScaleTargets(series.Instant(ahead), row);
      encoding_.Anchor(
          std::span(window.samples).subspan(t * channels, channels),
          window.x.Row(t), anchors);
      for (size_t c = 0; c < targets; ++c) {
        // Leaves NaN as it is.
        row[c] = std::clamp(row[c] - anchors[c], -kMaxTarget, kMaxTarget);
      }
    }
  }
}

}  // namespace telltale::model
