#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace telltale::model {

// Moving averages by exponential weights that are cut off, so that a state can
// be rebuilt from a finite past.
class MovingAverages {
 public:
  static constexpr int kTaps = 20;
  static constexpr float kDecay = 0.8F;

  explicit MovingAverages(size_t columns);

  // Takes the next instant's values [columns] and writes the magnitudes of
  // their averages over it and the kTaps - 1 instants before. What is NaN
  // counts as zero, and its column's magnitude is NaN.
  void Push(std::span<const float> values, std::span<float> magnitudes);

  void Save(std::string& bytes) const;
  bool Restore(std::string_view& bytes);

 private:
  std::vector<float> past_;  // [kTaps, columns], a ring
  int64_t count_ = 0;
};

}  // namespace telltale::model
