#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/matrix.h"

namespace telltale::model {

// Means of magnitudes over minutes, by exponential weights that are cut off, so
// that a state can be rebuilt from a finite past. What is missing counts as
// zero.
class SlowMeans {
 public:
  static constexpr int kTaps = 300;

  explicit SlowMeans(int columns);

  // Takes the next instant's magnitudes [columns] (NaN: none) and writes their
  // means over it and the kTaps - 1 instants before: half of an exponential of
  // 20 instants, half of one of 60.
  void Push(std::span<const float> magnitudes, std::span<float> means);

  void Save(std::string& bytes) const;
  bool Restore(std::string_view& bytes);

 private:
  Matrix past_;  // [kTaps, columns], a ring
  int64_t count_ = 0;
};

// Means that look ahead as well: exponentials of 30 and 90 instants to either
// side, over the kTaps - 1 rows before and at most kLargestLag after. Where a
// recording begins or ends, the rows that there are weigh more.
class LaggedMeans {
 public:
  static constexpr int kLargestLag = 64;

  // REQUIRES: 1 <= lag <= kLargestLag.
  explicit LaggedMeans(int lag);

  // The means of row `t` of magnitudes[rows, columns] (NaN: counts as zero).
  void At(const ConstMatrixView& magnitudes, int64_t t,
          std::span<float> means) const;

 private:
  int lag_;
  std::vector<float> weights_;  // by distance
};

}  // namespace telltale::model
