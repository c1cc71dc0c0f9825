#pragma once

#include <array>
#include <cstdint>

namespace telltale::data {

// A stream of random numbers that is the same on every machine: xoshiro256**
// (Blackman & Vigna 2021), and distributions made of exact arithmetic alone.
// The standard library's distributions are left out on purpose, since each
// library draws them its own way.
//
// Streams of the same seed and different `stream` are independent, so that
// what one part of a simulation draws never shifts what another part draws.
class Random {
 public:
  Random(uint64_t seed, uint64_t stream);

  uint64_t Bits();
  // In [0, 1), a multiple of 2^-53.
  double Uniform();
  // In [low, high). REQUIRES: low <= high.
  double Uniform(double low, double high);
  // In [low, high], both reached. REQUIRES: low <= high.
  int64_t Integer(int64_t low, int64_t high);
  // Mean 0, standard deviation 1: the sum of twelve uniforms (Irwin-Hall),
  // which is normal to the eye and needs no logarithm. Never beyond 6.
  double Normal();

 private:
  std::array<uint64_t, 4> state_;
};

// A stationary fluctuation about zero (Ornstein-Uhlenbeck): its correlation
// decays by 1/e in `memory` instants.
class Fluctuation {
 public:
  // Starts in its stationary state. REQUIRES: memory >= 2.
  Fluctuation(double memory, double deviation, Random& random);

  // The value one instant later.
  double Next(Random& random);

 private:
  double keep_;   // the part of the value that survives an instant
  double shock_;  // the deviation of what is added
  double value_;
};

}  // namespace telltale::data
