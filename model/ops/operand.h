#pragma once

#include <cstdint>
#include <vector>

#include "model/matrix.h"
#include "model/ops/precision.h"

namespace telltale::model {

// A matrix as products read it: rows in a given precision. In float32 it may
// stand for somebody else's rows. Keeps the memory it has.
class Operand {
 public:
  explicit Operand(Precision precision) : precision_(precision) {}
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  Precision precision() const { return precision_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t row_stride() const { return row_stride_; }

  // Rows of its own, dense; contents are unspecified.
  void Resize(int64_t rows, int64_t columns);

  // x, rounded to the precision; in float32 x itself, which must outlive its
  // use. REQUIRES: dense rows.
  void Assign(const ConstMatrixView& x);

  // The layer norm of x, row by row (layer_norm.h). `scale` and `shift` are of
  // a row's width. A row depends on that row of x alone.
  void AssignLayerNorm(const ConstMatrixView& x, const float* scale,
                       const float* shift);

  // Where row `row` begins: of its own rows, and of those it stands for.
  void* MutableRow(int64_t row);
  const void* Row(int64_t row) const;

 private:
  const Precision precision_;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
  int64_t row_stride_ = 0;
  const float* borrowed_ = nullptr;  // null: the rows are its own
  AlignedFloats floats_;
  std::vector<uint16_t, CacheLineAllocator<uint16_t>> halves_;
};

}  // namespace telltale::model
