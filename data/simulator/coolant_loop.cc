#include "data/simulator/coolant_loop.h"

#include <cassert>
#include <cmath>

namespace telltale::data {
namespace {

constexpr int kRampLength = 300;
// The wandering has two time scales, a slow one that sets how far it goes and
// a shorter one that keeps it smooth from instant to instant.
constexpr double kWanderMemory = 800;
constexpr double kSmoothing = 120;

constexpr int64_t kShortestNormal = 3200;
constexpr int64_t kLongestNormal = 5600;
constexpr int64_t kShortestIdling = 200;
constexpr int64_t kLongestIdling = 500;

}  // namespace

CoolantLoop::CoolantLoop(uint64_t seed)
    : random_(seed, 1),
      wander_(kWanderMemory, 1, random_),
      regime_left_(random_.Integer(kShortestNormal / 4, kLongestNormal)) {
  // Settles the smoothing, which starts at zero.
  for (int t = 0; t < 10 * kSmoothing; ++t) {
    smoothed_ += (wander_.Next(random_) - smoothed_) / kSmoothing;
  }
}

double CoolantLoop::Flow(int64_t t) {
  assert(t >= first_);
  while (first_ + static_cast<int64_t>(flows_.size()) <= t) {
    flows_.push_back(NextFlow());
  }
  return flows_[t - first_];
}

int64_t CoolantLoop::Transit(int64_t t) {
  return std::lround(kVolume / Flow(t));
}

void CoolantLoop::Forget(int64_t t) {
  while (first_ < t && !flows_.empty()) {
    flows_.pop_front();
    ++first_;
  }
}

double CoolantLoop::NextFlow() {
  smoothed_ += (wander_.Next(random_) - smoothed_) / kSmoothing;
  // Smoothing shrinks the deviation by sqrt(memory / (memory + smoothing)).
  const double s =
      smoothed_ * std::sqrt((kWanderMemory + kSmoothing) / kWanderMemory);
  // Squashes a normal variable to (0, 1), nearly uniformly.
  const double v = 0.5 + 0.5 * s / std::sqrt(1 + s * s);
  const double normal = 1.0 + 2.0 * v * v;    // transit 90 ... 30
  const double idling = 0.45 + 0.37 * v * v;  // transit 200 ... 110
  const double share = NextIdling();
  return (1 - share) * normal + share * idling;
}

// How far the loop idles at the next instant: 0 to 1, smooth in time.
double CoolantLoop::NextIdling() {
  if (--regime_left_ <= 0) {
    to_idle_ = !to_idle_;
    const int64_t low = to_idle_ ? kShortestIdling : kShortestNormal;
    const int64_t high = to_idle_ ? kLongestIdling : kLongestNormal;
    regime_left_ = kRampLength + random_.Integer(low, high);
  }
  if (to_idle_ && ramp_ < kRampLength) ++ramp_;
  if (!to_idle_ && ramp_ > 0) --ramp_;
  const double u = static_cast<double>(ramp_) / kRampLength;
  return u * u * (3 - 2 * u);
}

}  // namespace telltale::data
