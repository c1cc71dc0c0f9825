#pragma once

#include <algorithm>

#include "model/matrix.h"

namespace telltale::model {

// y = x. REQUIRES: dense rows, equal shapes.
inline void Copy(const ConstMatrixView& x, const MatrixView& y) {
  for (int64_t row = 0; row < x.rows; ++row) {
    std::copy_n(x.Row(row), x.columns, y.Row(row));
  }
}

// y += x. REQUIRES: dense rows, equal shapes.
inline void Add(const ConstMatrixView& x, const MatrixView& y) {
  for (int64_t row = 0; row < x.rows; ++row) {
    const float* from = x.Row(row);
    float* to = y.Row(row);
    for (int64_t i = 0; i < x.columns; ++i) to[i] += from[i];
  }
}

}  // namespace telltale::model
