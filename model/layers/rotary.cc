#include "model/layers/rotary.h"

#include <cmath>
#include <numbers>

namespace telltale::model {

std::vector<double> RotaryFrequencies(const EncoderConfig& config) {
  std::vector<double> frequencies(static_cast<size_t>(config.query_width / 2));
  for (size_t i = 0; i < frequencies.size(); ++i) {
    frequencies[i] = std::pow(
        config.rotary_base, -2.0 * static_cast<double>(i) / config.query_width);
  }
  return frequencies;
}

void ComputeAngles(std::span<const double> frequencies,
                   std::span<const double> positions, RotaryAngles& angles) {
  const auto half = static_cast<int64_t>(frequencies.size());
  const auto rows = static_cast<int64_t>(positions.size());
  angles.cosine.Resize(rows, half);
  angles.sine.Resize(rows, half);
  constexpr double kTurn = 2 * std::numbers::pi;
  for (int64_t t = 0; t < rows; ++t) {
    float* cosine = angles.cosine.Row(t);
    float* sine = angles.sine.Row(t);
    for (int64_t i = 0; i < half; ++i) {
      const double angle = std::fmod(positions[static_cast<size_t>(t)] *
                                         frequencies[static_cast<size_t>(i)],
                                     kTurn);
      cosine[i] = static_cast<float>(std::cos(angle));
      sine[i] = static_cast<float>(std::sin(angle));
    }
  }
}

void Rotate(const EncoderConfig& config, const RotaryAngles& angles,
            float direction, const MatrixView& x) {
  const int half = config.query_width / 2;
  for (int64_t t = 0; t < x.rows; ++t) {
    const float* cosine = angles.cosine.Row(t);
    const float* sine = angles.sine.Row(t);
    for (int64_t head = 0; head < config.heads; ++head) {
      float* low = x.Row(t) + head * config.query_width;
      float* high = low + half;
      for (int i = 0; i < half; ++i) {
        const float turned_sine = direction * sine[i];
        const float a = low[i];
        const float b = high[i];
        low[i] = a * cosine[i] - b * turned_sine;
        high[i] = a * turned_sine + b * cosine[i];
      }
    }
  }
}

}  // namespace telltale::model
