#pragma once

#include <cstdint>

#include "data/simulator/random.h"

namespace telltale::data {

// The flight plan's throttle: a level held for 600 to 2,000 instants, then a
// smooth ramp of 240 to 360 instants to another one, as flight rules demand of
// a large engine. Smooth, so that a change of mode is no shock.
class Throttle {
 public:
  explicit Throttle(uint64_t seed);

  // The setting one instant later: 0.6 to 1, 1 being full thrust.
  double Next();

 private:
  double DrawLevel(double other_than);

  Random random_;
  double from_;
  double to_;
  int64_t hold_left_;
  int64_t ramp_length_ = 1;
  int64_t ramp_left_ = 0;
};

}  // namespace telltale::data
