#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <vector>

#include "model/matrix.h"

namespace telltale::model {

// Mathematics written out as loops over doubles, for comparison: the formulas
// as they stand in the textbook, without a thought for speed.

// Row-major [rows, columns].
struct PlainMatrix {
  PlainMatrix() = default;
  PlainMatrix(int64_t row_count, int64_t column_count)
      : rows(row_count),
        columns(column_count),
        values(static_cast<size_t>(row_count * column_count)) {}

  double& At(int64_t row, int64_t column) {
    return values[static_cast<size_t>(row * columns + column)];
  }
  double At(int64_t row, int64_t column) const {
    return values[static_cast<size_t>(row * columns + column)];
  }

  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<double> values;
};

// Matrix `batch` of a view with any strides.
inline PlainMatrix ToPlain(const ConstMatrixView& view, int64_t batch = 0) {
  PlainMatrix matrix(view.rows, view.columns);
  for (int64_t r = 0; r < view.rows; ++r) {
    for (int64_t c = 0; c < view.columns; ++c) {
      matrix.At(r, c) = view.data[batch * view.batch_stride +
                                  r * view.row_stride + c * view.column_stride];
    }
  }
  return matrix;
}

inline PlainMatrix PlainTransposed(const PlainMatrix& x) {
  PlainMatrix y(x.columns, x.rows);
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t c = 0; c < x.columns; ++c) y.At(c, r) = x.At(r, c);
  }
  return y;
}

inline PlainMatrix PlainProduct(const PlainMatrix& a, const PlainMatrix& b) {
  PlainMatrix c(a.rows, b.columns);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t k = 0; k < a.columns; ++k) {
      for (int64_t j = 0; j < b.columns; ++j) {
        c.At(i, j) += a.At(i, k) * b.At(k, j);
      }
    }
  }
  return c;
}

inline PlainMatrix PlainSum(const PlainMatrix& a, const PlainMatrix& b) {
  PlainMatrix c = a;
  for (size_t i = 0; i < c.values.size(); ++i) c.values[i] += b.values[i];
  return c;
}

// The sum of all products of entries: a scalar to differentiate.
inline double PlainInner(const PlainMatrix& a, const PlainMatrix& b) {
  double sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i) sum += a.values[i] * b.values[i];
  return sum;
}

// Row by row. Scores of minus infinity get the weight zero.
inline PlainMatrix PlainSoftmax(const PlainMatrix& x) {
  PlainMatrix y(x.rows, x.columns);
  for (int64_t r = 0; r < x.rows; ++r) {
    double largest = x.At(r, 0);
    for (int64_t c = 1; c < x.columns; ++c) {
      largest = std::max(largest, x.At(r, c));
    }
    double sum = 0;
    for (int64_t c = 0; c < x.columns; ++c) {
      y.At(r, c) = std::exp(x.At(r, c) - largest);
      sum += y.At(r, c);
    }
    for (int64_t c = 0; c < x.columns; ++c) y.At(r, c) /= sum;
  }
  return y;
}

// dx_j = sum_i dy_i * y_i * ([i = j] - y_j), the Jacobian written out.
inline PlainMatrix PlainSoftmaxBackward(const PlainMatrix& y,
                                        const PlainMatrix& dy) {
  PlainMatrix dx(y.rows, y.columns);
  for (int64_t r = 0; r < y.rows; ++r) {
    for (int64_t j = 0; j < y.columns; ++j) {
      for (int64_t i = 0; i < y.columns; ++i) {
        const double same = i == j ? 1 : 0;
        dx.At(r, j) += dy.At(r, i) * y.At(r, i) * (same - y.At(r, j));
      }
    }
  }
  return dx;
}

inline constexpr double kPlainEpsilon = 1e-5;

// Row by row; `scale` and `shift` are [1, columns].
inline PlainMatrix PlainLayerNorm(const PlainMatrix& x,
                                  const PlainMatrix& scale,
                                  const PlainMatrix& shift) {
  PlainMatrix y(x.rows, x.columns);
  const auto width = static_cast<double>(x.columns);
  for (int64_t r = 0; r < x.rows; ++r) {
    double mean = 0;
    for (int64_t c = 0; c < x.columns; ++c) mean += x.At(r, c) / width;
    double variance = 0;
    for (int64_t c = 0; c < x.columns; ++c) {
      variance += (x.At(r, c) - mean) * (x.At(r, c) - mean) / width;
    }
    for (int64_t c = 0; c < x.columns; ++c) {
      y.At(r, c) = (x.At(r, c) - mean) / std::sqrt(variance + kPlainEpsilon) *
                       scale.At(0, c) +
                   shift.At(0, c);
    }
  }
  return y;
}

inline double PlainGelu(double x) {
  return x * 0.5 * (1 + std::erf(x / std::numbers::sqrt2));
}

// Phi(x) + x * phi(x).
inline double PlainGeluDerivative(double x) {
  return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) +
         x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
}

inline PlainMatrix PlainGelu(const PlainMatrix& x) {
  PlainMatrix y = x;
  for (double& value : y.values) value = PlainGelu(value);
  return y;
}

// x·weight + bias; bias is [1, columns], or empty for none.
inline PlainMatrix PlainLinear(const PlainMatrix& x, const PlainMatrix& weight,
                               const PlainMatrix& bias) {
  PlainMatrix y = PlainProduct(x, weight);
  if (bias.values.empty()) return y;
  for (int64_t r = 0; r < y.rows; ++r) {
    for (int64_t c = 0; c < y.columns; ++c) y.At(r, c) += bias.At(0, c);
  }
  return y;
}

// The derivative of f() by one double that it reads: central differences,
// good to about nine digits for functions of order one.
inline double PlainDerivative(double& x, const std::function<double()>& f) {
  constexpr double kStep = 1e-5;
  const double kept = x;
  x = kept + kStep;
  const double above = f();
  x = kept - kStep;
  const double below = f();
  x = kept;
  return (above - below) / (2 * kStep);
}

// The same for every entry of a matrix.
inline PlainMatrix PlainDerivative(PlainMatrix& x,
                                   const std::function<double()>& f) {
  PlainMatrix gradient(x.rows, x.columns);
  for (size_t i = 0; i < x.values.size(); ++i) {
    gradient.values[i] = PlainDerivative(x.values[i], f);
  }
  return gradient;
}

}  // namespace telltale::model
