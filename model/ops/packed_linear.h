#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "model/matrix.h"
#include "model/ops/context.h"
#include "model/ops/operand.h"
#include "model/parameters.h"

namespace telltale::model {

struct PackedLinearOptions {
  bool gelu = false;        // y = gelu(x·weight + bias), with the exact GELU
  bool accumulate = false;  // y += x·weight + bias
};

// A linear layer for forecasting alone: its weights lie, once and for all, as
// the processor's products want them, and what follows is fused.
//
// A row of y depends, to the bit, on that row of x alone, however many rows are
// computed together. Where oneDNN does not compute every count of rows alike,
// all come in tiles: row_multiple() says so.
//
// Copies the weights; the context must outlive it. Used by one thread at a
// time, as its context.
class PackedLinear {
 public:
  // The given layers side by side: y is their outputs, one after the other.
  // REQUIRES: equal inputs; IsSupported(precision).
  PackedLinear(Context& context, std::span<const LinearParameters> layers,
               Precision precision, const PackedLinearOptions& options = {});
  ~PackedLinear();
  PackedLinear(PackedLinear&&) noexcept;

  // Rows must come in multiples of so many: 1, or 16 where products need tiles.
  int64_t row_multiple() const;
  int64_t outputs() const;

  // x[N, inputs], y[N, outputs], dense rows. REQUIRES: x in the precision.
  void Run(const Operand& x, const MatrixView& y);
  // The same, rounded to the precision of the next product; y is resized.
  // REQUIRES: no accumulation.
  void Run(const Operand& x, Operand& y);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace telltale::model
