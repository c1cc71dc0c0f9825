#include "model/training/adamw.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace telltale::model {

double LearningRate(double peak, int step, int warm_up, int steps) {
  if (step < warm_up) return peak * (step + 1) / warm_up;
  const double progress =
      static_cast<double>(step - warm_up) / std::max(1, steps - warm_up);
  return peak * 0.5 * (1 + std::cos(std::numbers::pi * progress));
}

double ClipNorm(Parameters& gradients, double limit) {
  double squares = 0;
  for (float g : gradients.values()) squares += static_cast<double>(g) * g;
  const double norm = std::sqrt(squares);
  if (!std::isfinite(norm)) {
    gradients.SetZero();
  } else if (norm > limit) {
    const auto factor = static_cast<float>(limit / norm);
    for (float& g : gradients.values()) g *= factor;
  }
  return norm;
}

AdamW::AdamW(const EncoderConfig& config, int stand_ins, double weight_decay)
    : weight_decay_(weight_decay),
      first_(config, stand_ins),
      second_(config, stand_ins) {}

void AdamW::Step(double learning_rate, const Parameters& gradients,
                 Parameters& parameters) {
  constexpr double kBeta1 = 0.9;
  constexpr double kBeta2 = 0.98;
  constexpr float kEpsilon = 1e-8F;
  ++step_;
  const auto correction1 =
      static_cast<float>(1 / (1 - std::pow(kBeta1, step_)));
  const auto correction2 =
      static_cast<float>(1 / (1 - std::pow(kBeta2, step_)));
  const auto rate = static_cast<float>(learning_rate);
  const auto beta1 = static_cast<float>(kBeta1);
  const auto beta2 = static_cast<float>(kBeta2);
  for (const NamedTensor& tensor : parameters.tensors()) {
    const std::span<float> p = parameters.Tensor(tensor);
    const std::span<const float> g = gradients.Tensor(tensor);
    const std::span<float> m = first_.Tensor(tensor);
    const std::span<float> v = second_.Tensor(tensor);
    const auto kept = static_cast<float>(
        tensor.decays ? 1 - learning_rate * weight_decay_ : 1);
    for (size_t i = 0; i < p.size(); ++i) {
      m[i] = beta1 * m[i] + (1 - beta1) * g[i];
      v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
      p[i] = p[i] * kept - rate * (m[i] * correction1) /
                               (std::sqrt(v[i] * correction2) + kEpsilon);
    }
  }
}

}  // namespace telltale::model
