#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <vector>

namespace telltale::model {

// A strided view of `batch` matrices [rows, columns] in somebody else's
// buffer. A transposed or sliced matrix is another view of the same floats.
template <typename Float>
struct BasicMatrixView {
  Float* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_stride = 0;
  int64_t column_stride = 1;
  int64_t batch = 1;
  int64_t batch_stride = 0;

  // A view to write through is also one to read through.
  // NOLINTNEXTLINE(google-explicit-constructor): as pointers convert
  operator BasicMatrixView<const Float>() const
      requires(!std::is_const_v<Float>) {
    return {data,          rows,  columns,     row_stride,
            column_stride, batch, batch_stride};
  }

  BasicMatrixView Transposed() const {
    return {data,       columns, rows,        column_stride,
            row_stride, batch,   batch_stride};
  }
  // Rows [begin, begin + count).
  BasicMatrixView Rows(int64_t begin, int64_t count) const {
    BasicMatrixView view = *this;
    view.data += begin * row_stride;
    view.rows = count;
    return view;
  }
  // The columns [begin, begin + count).
  BasicMatrixView Columns(int64_t begin, int64_t count) const {
    BasicMatrixView view = *this;
    view.data += begin * column_stride;
    view.columns = count;
    return view;
  }
  // The columns cut into `heads` blocks of equal width, one matrix a head.
  BasicMatrixView Heads(int64_t heads) const {
    BasicMatrixView view = *this;
    view.columns = columns / heads;
    view.batch = heads;
    view.batch_stride = view.columns * column_stride;
    return view;
  }
  // REQUIRES: column_stride == 1.
  Float* Row(int64_t row) const { return data + row * row_stride; }
};

using MatrixView = BasicMatrixView<float>;
using ConstMatrixView = BasicMatrixView<const float>;

// `rows` x `columns` floats, row-major without gaps, at `data`.
inline MatrixView View(float* data, int64_t rows, int64_t columns) {
  return {
      .data = data, .rows = rows, .columns = columns, .row_stride = columns};
}
inline ConstMatrixView View(const float* data, int64_t rows, int64_t columns) {
  return {
      .data = data, .rows = rows, .columns = columns, .row_stride = columns};
}

// Memory that begins with a cache line, so that vectors do not straddle two.
template <typename T>
struct CacheLineAllocator {
  static constexpr std::align_val_t kAlignment{64};
  using value_type = T;

  CacheLineAllocator() = default;
  template <typename U>
  // NOLINTNEXTLINE(google-explicit-constructor): as the standard wants it
  CacheLineAllocator(const CacheLineAllocator<U>&) {}

  T* allocate(size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kAlignment));
  }
  void deallocate(T* memory, size_t) { ::operator delete(memory, kAlignment); }

  friend bool operator==(const CacheLineAllocator&,
                         const CacheLineAllocator&) = default;
};

using AlignedFloats = std::vector<float, CacheLineAllocator<float>>;

// A matrix that owns its floats, row-major without gaps.
class Matrix {
 public:
  Matrix() = default;
  Matrix(int64_t rows, int64_t columns) { Resize(rows, columns); }

  // Contents are unspecified afterwards; keeps the memory it has.
  void Resize(int64_t rows, int64_t columns) {
    rows_ = rows;
    columns_ = columns;
    floats_.resize(static_cast<size_t>(rows * columns));
  }

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  float* data() { return floats_.data(); }
  const float* data() const { return floats_.data(); }
  float* Row(int64_t row) { return data() + row * columns_; }
  const float* Row(int64_t row) const { return data() + row * columns_; }
  MatrixView view() { return View(data(), rows_, columns_); }
  ConstMatrixView view() const { return View(data(), rows_, columns_); }
  AlignedFloats& floats() { return floats_; }
  const AlignedFloats& floats() const { return floats_; }

 private:
  int64_t rows_ = 0;
  int64_t columns_ = 0;
  AlignedFloats floats_;
};

}  // namespace telltale::model
