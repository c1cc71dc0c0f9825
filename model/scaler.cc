#include "model/scaler.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace telltale::model {
namespace {

// Samples that a quantile is taken from at the most; more add nothing.
constexpr int64_t kMaxSamples = 1'000'000;

// The least scales: the largest sample that there may be, divided by one, must
// stay finite.
constexpr float kCoarseFloor = 1e-6F;
constexpr float kFineFloor = 1e-8F;

// The valid samples of one channel, thinned evenly to kMaxSamples.
std::vector<float> Collect(int channel, std::span<const Scaler::Part> parts) {
  int64_t instants = 0;
  for (const Scaler::Part& part : parts) instants += part.end - part.begin;
  const int64_t stride = std::max<int64_t>(1, instants / kMaxSamples);
  std::vector<float> samples;
  samples.reserve(static_cast<size_t>(instants / stride) + 1);
  for (const Scaler::Part& part : parts) {
    for (int64_t t = part.begin; t < part.end; t += stride) {
      const float x = part.series->Instant(
          static_cast<int>(t))[static_cast<size_t>(channel)];
      if (!std::isnan(x)) samples.push_back(x);
    }
  }
  return samples;
}

float Quantile(std::vector<float>& samples, double probability) {
  const auto place = static_cast<int64_t>(
      probability * static_cast<double>(samples.size() - 1));
  std::nth_element(samples.begin(), samples.begin() + place, samples.end());
  return samples[static_cast<size_t>(place)];
}

// Whether more than kFineSteps different samples lie between the bounds.
bool MovesFinely(const std::vector<float>& samples, float low, float high) {
  std::vector<float> seen;  // in order
  for (const float x : samples) {
    if (x < low || x > high) continue;
    const auto place = std::ranges::lower_bound(seen, x);
    if (place != seen.end() && *place == x) continue;
    seen.insert(place, x);
    if (seen.size() > Scaler::kFineSteps) return true;
  }
  return false;
}

// With the samples drawn in to [low, high].
float StandardDeviation(const std::vector<float>& samples, float low,
                        float high) {
  double mean = 0;
  for (float x : samples) mean += std::clamp(x, low, high);
  mean /= static_cast<double>(samples.size());
  double squares = 0;
  for (float x : samples) {
    const double difference = std::clamp(x, low, high) - mean;
    squares += difference * difference;
  }
  return static_cast<float>(
      std::sqrt(squares / static_cast<double>(samples.size())));
}

}  // namespace

Scaler Scaler::Fit(const data::ChannelSet& channels,
                   std::span<const Part> parts) {
  const auto count = static_cast<size_t>(channels.size());
  Scaler scaler{std::vector<float>(count, 0.0F),
                std::vector<float>(count, 1.0F)};
  for (int channel = 0; channel < channels.size(); ++channel) {
    const auto c = static_cast<size_t>(channel);
    const data::ChannelKind kind = channels[channel].kind;
    if (kind == data::ChannelKind::kDiscrete) continue;
    std::vector<float> samples = Collect(channel, parts);
    if (samples.empty()) continue;
    float largest = 0;
    for (float x : samples) largest = std::max(largest, std::abs(x));
    if (kind == data::ChannelKind::kCommand) {
      if (largest > 0) scaler.scale[c] = largest;
      continue;
    }
    const float low = Quantile(samples, 0.05);
    const float high = Quantile(samples, 0.95);
    const float lowest = Quantile(samples, 0.001);
    const float highest = Quantile(samples, 0.999);
    scaler.center[c] = Quantile(samples, 0.5);
    const float floor = MovesFinely(samples, low, high)
                            ? kFineFloor
                            : std::max(kFloor * largest, kCoarseFloor);
    scaler.scale[c] =
        std::max({(high - low) / 3.29F,
                  StandardDeviation(samples, lowest, highest), floor});
  }
  return scaler;
}

}  // namespace telltale::model
