#include "data/simulator/random.h"

#include <bit>
#include <cassert>
#include <cmath>

namespace telltale::data {
namespace {

// SplitMix64 (Steele, Lea & Flood 2014), as the authors of xoshiro advise for
// filling its state from one word.
uint64_t SplitMix(uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(uint64_t seed, uint64_t stream) : state_() {
  uint64_t mixed = seed;
  uint64_t word = SplitMix(mixed) ^ (stream * 0xd1342543de82ef95U);
  for (uint64_t& part : state_) part = SplitMix(word);
}

uint64_t Random::Bits() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::Uniform() {
  return static_cast<double>(Bits() >> 11) * 0x1.0p-53;
}

double Random::Uniform(double low, double high) {
  return low + (high - low) * Uniform();
}

int64_t Random::Integer(int64_t low, int64_t high) {
  assert(low <= high);
  const double count = static_cast<double>(high - low) + 1;
  return low + static_cast<int64_t>(count * Uniform());
}

double Random::Normal() {
  // Four 16-bit uniforms a word, three words: integers, hence exact.
  uint64_t sum = 0;
  for (int word = 0; word < 3; ++word) {
    const uint64_t bits = Bits();
    sum += (bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) +
           (bits >> 48);
  }
  // Each uniform is (k + 1/2) / 65536: twelve halves make the 6.
  return (static_cast<double>(sum) + 6) / 65536 - 6;
}

Fluctuation::Fluctuation(double memory, double deviation, Random& random)
    : keep_(1 - 1 / memory),
      shock_(deviation * std::sqrt(1 - keep_ * keep_)),
      value_(deviation * random.Normal()) {
  assert(memory >= 2);
}

double Fluctuation::Next(Random& random) {
  value_ = keep_ * value_ + shock_ * random.Normal();
  return value_;
}

}  // namespace telltale::data
