#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace telltale::model {

// The directions in which rows vary most.
class PrincipalComponents {
 public:
  // Fits mean and components to rows[count, width], row-major: as few as hold
  // `share` of the variance. Takes O(width^3). REQUIRES: count, width >= 1.
  PrincipalComponents(std::span<const double> rows, int width, double share);

  int count() const { return count_; }

  // The squared length of what the components cannot express of a row.
  double Residual(std::span<const double> row) const;

 private:
  int count_ = 0;
  std::vector<double> mean_;        // [width]
  std::vector<double> components_;  // [count, width], each of length one
};

}  // namespace telltale::model
