#include "model/evaluation/principal_components.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace telltale::model {
namespace {

// A symmetric matrix on its way to a diagonal one.
class JacobiRotation {
 public:
  JacobiRotation(std::vector<double> matrix, int width)
      : matrix_(std::move(matrix)),
        vectors_(static_cast<size_t>(width) * width, 0.0),
        width_(width) {
    for (int i = 0; i < width; ++i) Vector(i, i) = 1;
  }

  // Cyclic sweeps (Jacobi 1846) until what is off the diagonal has gone. They
  // converge quadratically; a dozen is more than any matrix needed.
  void Run() {
    constexpr int kSweeps = 30;
    for (int sweep = 0; sweep < kSweeps && !IsDiagonal(); ++sweep) {
      for (int p = 0; p < width_; ++p) {
        for (int q = p + 1; q < width_; ++q) Rotate(p, q);
      }
    }
  }

  double Value(int i) const { return matrix_[Index(i, i)]; }
  // Row i is the eigenvector of Value(i).
  std::span<const double> VectorRow(int i) const {
    return std::span(vectors_).subspan(Index(i, 0),
                                       static_cast<size_t>(width_));
  }

 private:
  size_t Index(int r, int c) const {
    return static_cast<size_t>(r) * static_cast<size_t>(width_) +
           static_cast<size_t>(c);
  }
  double& At(int r, int c) { return matrix_[Index(r, c)]; }
  double& Vector(int r, int c) { return vectors_[Index(r, c)]; }

  bool IsDiagonal() const {
    double off = 0;
    double on = 0;
    for (int r = 0; r < width_; ++r) {
      on += matrix_[Index(r, r)] * matrix_[Index(r, r)];
      for (int c = r + 1; c < width_; ++c) {
        off += matrix_[Index(r, c)] * matrix_[Index(r, c)];
      }
    }
    return off <= 1e-20 * on;
  }

  // Makes the entry (p, q) zero by a rotation of the two rows and columns.
  void Rotate(int p, int q) {
    if (At(p, q) == 0) return;
    const double theta = (At(q, q) - At(p, p)) / (2 * At(p, q));
    const double t = std::copysign(
        1 / (std::abs(theta) + std::sqrt(theta * theta + 1)), theta);
    const double c = 1 / std::sqrt(t * t + 1);
    const double s = t * c;
    for (int k = 0; k < width_; ++k) Turn(c, s, At(k, p), At(k, q));
    for (int k = 0; k < width_; ++k) Turn(c, s, At(p, k), At(q, k));
    for (int k = 0; k < width_; ++k) Turn(c, s, Vector(p, k), Vector(q, k));
  }

  static void Turn(double c, double s, double& a, double& b) {
    const double turned = c * a - s * b;
    b = s * a + c * b;
    a = turned;
  }

  std::vector<double> matrix_;
  std::vector<double> vectors_;
  int width_;
};

std::vector<double> Covariance(std::span<const double> rows,
                               std::span<const double> mean) {
  const size_t width = mean.size();
  const size_t count = rows.size() / width;
  std::vector<double> covariance(width * width, 0.0);
  std::vector<double> centred(width);
  for (size_t r = 0; r < count; ++r) {
    for (size_t i = 0; i < width; ++i) {
      centred[i] = rows[r * width + i] - mean[i];
    }
    for (size_t i = 0; i < width; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        covariance[i * width + j] += centred[i] * centred[j];
      }
    }
  }
  for (size_t i = 0; i < width; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      covariance[i * width + j] /= static_cast<double>(count);
      covariance[j * width + i] = covariance[i * width + j];
    }
  }
  return covariance;
}

}  // namespace

PrincipalComponents::PrincipalComponents(std::span<const double> rows,
                                         int width, double share)
    : mean_(static_cast<size_t>(width), 0.0) {
  const size_t count = rows.size() / mean_.size();
  for (size_t i = 0; i < count * mean_.size(); ++i) {
    mean_[i % mean_.size()] += rows[i] / static_cast<double>(count);
  }
  JacobiRotation rotation(Covariance(rows, mean_), width);
  rotation.Run();

  std::vector<int> order(static_cast<size_t>(width));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&rotation](int a, int b) {
    return rotation.Value(a) > rotation.Value(b);
  });
  double total = 0;
  for (int i = 0; i < width; ++i) total += std::max(rotation.Value(i), 0.0);
  double held = 0;
  for (const int i : order) {
    if (held >= share * total) break;
    held += std::max(rotation.Value(i), 0.0);
    const std::span<const double> vector = rotation.VectorRow(i);
    components_.insert(components_.end(), vector.begin(), vector.end());
    ++count_;
  }
}

double PrincipalComponents::Residual(std::span<const double> row) const {
  const size_t width = mean_.size();
  double residual = 0;
  for (size_t i = 0; i < width; ++i) {
    residual += (row[i] - mean_[i]) * (row[i] - mean_[i]);
  }
  for (size_t k = 0; k < static_cast<size_t>(count_); ++k) {
    double along = 0;
    for (size_t i = 0; i < width; ++i) {
      along += (row[i] - mean_[i]) * components_[k * width + i];
    }
    residual -= along * along;
  }
  return std::max(residual, 0.0);
}

}  // namespace telltale::model
