#include "model/scoring/moving_averages.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/scoring/byte_io.h"

namespace telltale::model {
namespace {

// The weights, newest first; they add up to one.
const std::array<float, MovingAverages::kTaps>& Weights() {
  static const auto kWeights = [] {
    std::array<float, MovingAverages::kTaps> weights{};
    double sum = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      sum += std::pow(MovingAverages::kDecay, i);
    }
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] =
          static_cast<float>(std::pow(MovingAverages::kDecay, i) / sum);
    }
    return weights;
  }();
  return kWeights;
}

}  // namespace

MovingAverages::MovingAverages(size_t columns) : past_(kTaps * columns, 0.0F) {}

void MovingAverages::Push(std::span<const float> values,
                          std::span<float> magnitudes) {
  const size_t width = values.size();
  const auto slot = static_cast<size_t>(count_ % kTaps);
  float* newest = &past_[slot * width];
  for (size_t i = 0; i < width; ++i) {
    newest[i] = std::isnan(values[i]) ? 0 : values[i];
  }
  ++count_;
  std::ranges::fill(magnitudes, 0.0F);
  const auto& weights = Weights();
  for (size_t tap = 0; tap < kTaps; ++tap) {
    const float* row = &past_[(slot + kTaps - tap) % kTaps * width];
    for (size_t i = 0; i < width; ++i) magnitudes[i] += weights[tap] * row[i];
  }
  for (size_t i = 0; i < width; ++i) {
    magnitudes[i] = std::isnan(values[i]) ? values[i] : std::abs(magnitudes[i]);
  }
}

void MovingAverages::Save(std::string& bytes) const {
  AppendBytes(&count_, 1, bytes);
  AppendBytes(past_, bytes);
}

bool MovingAverages::Restore(std::string_view& bytes) {
  return TakeBytes(bytes, &count_, 1) && TakeBytes(bytes, past_) && count_ >= 0;
}

}  // namespace telltale::model
