#include "model/scoring/slow_means.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/scoring/byte_io.h"

namespace telltale::model {
namespace {

// The weights of SlowMeans, newest first. They add up to a little less than
// one.
const std::array<float, SlowMeans::kTaps>& SlowWeights() {
  static const auto kWeights = [] {
    std::array<float, SlowMeans::kTaps> weights{};
    for (size_t i = 0; i < weights.size(); ++i) {
      const auto age = static_cast<double>(i);
      weights[i] = static_cast<float>((std::pow(1 - 1 / 20.0, age) / 20 +
                                       std::pow(1 - 1 / 60.0, age) / 60) /
                                      2);
    }
    return weights;
  }();
  return kWeights;
}

}  // namespace

SlowMeans::SlowMeans(int columns) : past_(kTaps, columns) {
  std::ranges::fill(past_.floats(), 0.0F);
}

void SlowMeans::Push(std::span<const float> magnitudes,
                     std::span<float> means) {
  const int64_t slot = count_ % kTaps;
  float* newest = past_.Row(slot);
  for (size_t i = 0; i < magnitudes.size(); ++i) {
    newest[i] = std::isnan(magnitudes[i]) ? 0 : magnitudes[i];
  }
  ++count_;
  std::ranges::fill(means, 0.0F);
  const auto& weights = SlowWeights();
  for (int64_t tap = 0; tap < kTaps; ++tap) {
    const float weight = weights[static_cast<size_t>(tap)];
    const float* row = past_.Row((slot + kTaps - tap) % kTaps);
    for (size_t i = 0; i < means.size(); ++i) means[i] += weight * row[i];
  }
}

void SlowMeans::Save(std::string& bytes) const {
  AppendBytes(past_.floats(), bytes);
  AppendBytes(&count_, 1, bytes);
}

bool SlowMeans::Restore(std::string_view& bytes) {
  return TakeBytes(bytes, past_.floats()) && TakeBytes(bytes, &count_, 1) &&
         count_ >= 0;
}

LaggedMeans::LaggedMeans(int lag) : lag_(lag) {
  for (int distance = 0; distance < SlowMeans::kTaps; ++distance) {
    weights_.push_back(static_cast<float>(std::exp(-distance / 30.0) / 30 +
                                          std::exp(-distance / 90.0) / 90));
  }
}

void LaggedMeans::At(const ConstMatrixView& magnitudes, int64_t t,
                     std::span<float> means) const {
  const int64_t begin = std::max<int64_t>(0, t - SlowMeans::kTaps + 1);
  const int64_t end = std::min(magnitudes.rows, t + lag_ + 1);
  std::ranges::fill(means, 0.0F);
  float total = 0;
  for (int64_t row = begin; row < end; ++row) {
    const float weight = weights_[static_cast<size_t>(std::abs(row - t))];
    total += weight;
    const float* from = magnitudes.Row(row);
    for (size_t i = 0; i < means.size(); ++i) {
      means[i] += std::isnan(from[i]) ? 0 : weight * from[i];
    }
  }
  for (float& mean : means) mean /= total;
}

}  // namespace telltale::model
