// Compiled once for each instruction set; the processor picks one as it runs.
#include "model/ops/operand.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/ops/operand.cc"
#include "hwy/foreach_target.h"
// Above, what includes this file again for each target, comes first.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace telltale::model::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// As wide as any target's vectors, so that the rest of a row fits into one.
constexpr int64_t kMostLanes = 16;
using Lanes = hn::CappedTag<float, kMostLanes>;
using Vector = hn::Vec<Lanes>;

// The upper halves of finite floats, rounded to nearest, ties to even.
HWY_INLINE void Store(Vector x, uint16_t* to) {
  const hn::RebindToUnsigned<Lanes> bits;
  const hn::Rebind<uint16_t, Lanes> halves;
  const auto u = hn::BitCast(bits, x);
  const auto odd = hn::And(hn::ShiftRight<16>(u), hn::Set(bits, 1));
  const auto rounded = hn::Add(u, hn::Add(odd, hn::Set(bits, 0x7FFF)));
  hn::StoreU(hn::TruncateTo(halves, hn::ShiftRight<16>(rounded)), halves, to);
}

HWY_INLINE void Store(Vector x, float* to) { hn::StoreU(x, Lanes(), to); }

// Calls full(i) for each whole vector of `count` floats, then rest(i, left).
template <typename Full, typename Rest>
HWY_INLINE void ForRow(int64_t count, const Full& full, const Rest& rest) {
  const auto n = static_cast<int64_t>(hn::Lanes(Lanes()));
  int64_t i = 0;
  for (; i + n <= count; i += n) full(i);
  if (i < count) rest(i, count - i);
}

HWY_INLINE Vector LoadRest(const float* from, int64_t left) {
  HWY_ALIGN float rest[kMostLanes] = {};
  std::copy_n(from, left, rest);
  return hn::Load(Lanes(), rest);
}

template <typename Stored>
HWY_INLINE void StoreRest(Vector x, int64_t left, Stored* to) {
  HWY_ALIGN Stored rest[kMostLanes];
  Store(x, rest);
  std::copy_n(rest, left, to);
}

void Round(const float* from, int64_t count, uint16_t* to) {
  const Lanes d;
  ForRow(
      count, [&](int64_t i) HWY_ATTR { Store(hn::LoadU(d, from + i), to + i); },
      [&](int64_t i, int64_t left)
          HWY_ATTR { StoreRest(LoadRest(from + i, left), left, to + i); });
}

constexpr float kEpsilon = 1e-5F;

template <typename Stored>
HWY_INLINE void NormaliseRow(const float* x, int64_t count, const float* scale,
                             const float* shift, Stored* y) {
  const Lanes d;
  Vector sum = hn::Zero(d);
  const auto add = [&](Vector part) HWY_ATTR { sum = hn::Add(sum, part); };
  ForRow(
      count, [&](int64_t i) HWY_ATTR { add(hn::LoadU(d, x + i)); },
      [&](int64_t i, int64_t left) HWY_ATTR { add(LoadRest(x + i, left)); });
  const Vector share = hn::Set(d, 1.0F / static_cast<float>(count));
  const Vector mean = hn::Mul(hn::SumOfLanes(d, sum), share);

  Vector squares = hn::Zero(d);
  ForRow(
      count,
      [&](int64_t i) HWY_ATTR {
        const Vector off = hn::Sub(hn::LoadU(d, x + i), mean);
        squares = hn::MulAdd(off, off, squares);
      },
      [&](int64_t i, int64_t left) HWY_ATTR {
        const Vector off =
            hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(left)),
                               hn::Sub(LoadRest(x + i, left), mean));
        squares = hn::MulAdd(off, off, squares);
      });
  const Vector variance = hn::Mul(hn::SumOfLanes(d, squares), share);
  const Vector factor = hn::Div(
      hn::Set(d, 1.0F), hn::Sqrt(hn::Add(variance, hn::Set(d, kEpsilon))));

  const auto normalise = [&](Vector value, Vector by, Vector plus) HWY_ATTR {
    return hn::MulAdd(hn::Mul(hn::Sub(value, mean), factor), by, plus);
  };
  ForRow(
      count,
      [&](int64_t i) HWY_ATTR {
        Store(normalise(hn::LoadU(d, x + i), hn::LoadU(d, scale + i),
                        hn::LoadU(d, shift + i)),
              y + i);
      },
      [&](int64_t i, int64_t left) HWY_ATTR {
        StoreRest(normalise(LoadRest(x + i, left), LoadRest(scale + i, left),
                            LoadRest(shift + i, left)),
                  left, y + i);
      });
}

void NormaliseToFloats(const float* x, int64_t count, const float* scale,
                       const float* shift, float* y) {
  NormaliseRow(x, count, scale, shift, y);
}

void NormaliseToHalves(const float* x, int64_t count, const float* scale,
                       const float* shift, uint16_t* y) {
  NormaliseRow(x, count, scale, shift, y);
}

}  // namespace
}  // namespace telltale::model::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace telltale::model {

HWY_EXPORT(Round);
HWY_EXPORT(NormaliseToFloats);
HWY_EXPORT(NormaliseToHalves);

void Operand::Resize(int64_t rows, int64_t columns) {
  rows_ = rows;
  columns_ = columns;
  row_stride_ = columns;
  borrowed_ = nullptr;
  const auto size = static_cast<size_t>(rows * columns);
  if (precision_ == Precision::kFloat32) {
    floats_.resize(size);
  } else {
    halves_.resize(size);
  }
}

void Operand::Assign(const ConstMatrixView& x) {
  if (precision_ == Precision::kFloat32) {
    rows_ = x.rows;
    columns_ = x.columns;
    row_stride_ = x.row_stride;
    borrowed_ = x.data;
    return;
  }
  Resize(x.rows, x.columns);
  for (int64_t row = 0; row < rows_; ++row) {
    HWY_DYNAMIC_DISPATCH(Round)
    (x.Row(row), columns_, halves_.data() + row * row_stride_);
  }
}

void Operand::AssignLayerNorm(const ConstMatrixView& x, const float* scale,
                              const float* shift) {
  Resize(x.rows, x.columns);
  for (int64_t row = 0; row < rows_; ++row) {
    if (precision_ == Precision::kFloat32) {
      HWY_DYNAMIC_DISPATCH(NormaliseToFloats)
      (x.Row(row), columns_, scale, shift, floats_.data() + row * row_stride_);
    } else {
      HWY_DYNAMIC_DISPATCH(NormaliseToHalves)
      (x.Row(row), columns_, scale, shift, halves_.data() + row * row_stride_);
    }
  }
}

void* Operand::MutableRow(int64_t row) {
  if (precision_ == Precision::kFloat32) {
    return floats_.data() + row * row_stride_;
  }
  return halves_.data() + row * row_stride_;
}

const void* Operand::Row(int64_t row) const {
  if (borrowed_ != nullptr) return borrowed_ + row * row_stride_;
  return const_cast<Operand*>(this)->MutableRow(row);
}

}  // namespace telltale::model
#endif
