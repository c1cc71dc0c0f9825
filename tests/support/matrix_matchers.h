#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "gtest/gtest.h"

#include "model/matrix.h"
#include "tests/support/plain_math.h"

namespace telltale::model {

// Entries of `found` lie within `tolerance` of those of `expected`.
inline testing::AssertionResult IsNear(const PlainMatrix& found,
                                       const PlainMatrix& expected,
                                       double tolerance) {
  if (found.rows != expected.rows || found.columns != expected.columns) {
    return testing::AssertionFailure()
           << "found [" << found.rows << ", " << found.columns
           << "], expected [" << expected.rows << ", " << expected.columns
           << "]";
  }
  for (int64_t r = 0; r < found.rows; ++r) {
    for (int64_t c = 0; c < found.columns; ++c) {
      // Written so that a NaN is not near.
      if (std::abs(found.At(r, c) - expected.At(r, c)) <= tolerance) continue;
      return testing::AssertionFailure()
             << "at [" << r << ", " << c << "] found " << found.At(r, c)
             << ", expected " << expected.At(r, c) << " within " << tolerance;
    }
  }
  return testing::AssertionSuccess();
}

inline testing::AssertionResult IsNear(const ConstMatrixView& found,
                                       const PlainMatrix& expected,
                                       double tolerance) {
  return IsNear(ToPlain(found), expected, tolerance);
}

inline testing::AssertionResult IsNear(const Matrix& found,
                                       const Matrix& expected,
                                       double tolerance) {
  return IsNear(ToPlain(found.view()), ToPlain(expected.view()), tolerance);
}

inline testing::AssertionResult HasBits(const ConstMatrixView& found,
                                        const ConstMatrixView& expected) {
  if (found.rows != expected.rows || found.columns != expected.columns) {
    return testing::AssertionFailure()
           << "found [" << found.rows << ", " << found.columns
           << "], expected [" << expected.rows << ", " << expected.columns
           << "]";
  }
  for (int64_t r = 0; r < found.rows; ++r) {
    for (int64_t c = 0; c < found.columns; ++c) {
      const float a = found.Row(r)[c];
      const float b = expected.Row(r)[c];
      if (std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b)) continue;
      return testing::AssertionFailure()
             << "at [" << r << ", " << c << "] found " << a << ", expected "
             << b << ", off by " << a - b;
    }
  }
  return testing::AssertionSuccess();
}

inline testing::AssertionResult HasBits(const Matrix& found,
                                        const Matrix& expected) {
  return HasBits(found.view(), expected.view());
}

inline double LargestMagnitude(const PlainMatrix& x) {
  double largest = 0;
  for (double value : x.values) largest = std::max(largest, std::abs(value));
  return largest;
}

}  // namespace telltale::model
