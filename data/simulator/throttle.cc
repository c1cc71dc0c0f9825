#include "data/simulator/throttle.h"

namespace telltale::data {
namespace {

constexpr int64_t kShortestHold = 600;
constexpr int64_t kLongestHold = 2000;
constexpr int64_t kShortestRamp = 240;
constexpr int64_t kLongestRamp = 360;

}  // namespace

Throttle::Throttle(uint64_t seed)
    : random_(seed, 5),
      from_(DrawLevel(0)),
      to_(from_),
      hold_left_(random_.Integer(0, kLongestHold)) {}

double Throttle::Next() {
  if (ramp_left_ > 0) {
    --ramp_left_;
    const double u =
        1 - static_cast<double>(ramp_left_) / static_cast<double>(ramp_length_);
    return from_ + (to_ - from_) * u * u * (3 - 2 * u);
  }
  if (--hold_left_ <= 0) {
    from_ = to_;
    to_ = DrawLevel(from_);
    ramp_length_ = random_.Integer(kShortestRamp, kLongestRamp);
    ramp_left_ = ramp_length_;
    hold_left_ = random_.Integer(kShortestHold, kLongestHold);
    return from_;
  }
  return to_;
}

// One of the modes 0.6, 0.7, ... 1.
double Throttle::DrawLevel(double other_than) {
  double level = other_than;
  while (level == other_than) {
    level = static_cast<double>(random_.Integer(6, 10)) / 10;
  }
  return level;
}

}  // namespace telltale::data
