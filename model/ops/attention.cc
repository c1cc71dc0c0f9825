// Compiled once for each instruction set; the processor picks one as it runs.
#include "model/ops/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/ops/attention.cc"
#include "hwy/foreach_target.h"
// Above, what includes this file again for each target, comes first.
#include "hwy/highway.h"
// And this defines what it does for the current target.
#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace telltale::model::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Lanes = hn::CappedTag<float, kKeyBlock>;
using Vector = hn::Vec<Lanes>;

// Scores of kVectors vectors of keys from `column` on, for kQueries queries;
// raises what was the largest of each.
template <int kQueries, int kVectors>
HWY_INLINE void Score(const HeadKeys& head, float scale,
                      const HeadQuery* queries, int64_t column,
                      Vector* largest) {
  const Lanes d;
  const auto n = static_cast<int64_t>(hn::Lanes(d));
  Vector sums[kQueries][kVectors];
  for (auto& of_query : sums) {
    for (Vector& sum : of_query) sum = hn::Zero(d);
  }
  const float* keys = head.keys + column;
  for (int i = 0; i < head.query_width; ++i, keys += head.stride) {
    for (int v = 0; v < kVectors; ++v) {
      const Vector key = hn::LoadU(d, keys + v * n);
      for (int q = 0; q < kQueries; ++q) {
        sums[q][v] =
            hn::MulAdd(hn::Set(d, queries[q].query[i]), key, sums[q][v]);
      }
    }
  }
  const Vector factor = hn::Set(d, scale);
  for (int q = 0; q < kQueries; ++q) {
    for (int v = 0; v < kVectors; ++v) {
      float* to = queries[q].row + column + v * n;
      const Vector score = hn::MulAdd(sums[q][v], factor, hn::LoadU(d, to));
      hn::StoreU(score, d, to);
      largest[q] = hn::Max(largest[q], score);
    }
  }
}

// Scores of all keys.
template <int kQueries>
HWY_INLINE void ScoreAll(const HeadKeys& head, float scale,
                         std::span<const KeyRange> seen,
                         const HeadQuery* queries, Vector* largest) {
  // So many sums side by side that no product waits for the one before.
  constexpr int kVectors = 8 / kQueries;
  const auto n = static_cast<int64_t>(hn::Lanes(Lanes()));
  for (const KeyRange& range : seen) {
    int64_t column = range.begin;
    for (; column + kVectors * n <= range.end; column += kVectors * n) {
      Score<kQueries, kVectors>(head, scale, queries, column, largest);
    }
    for (; column < range.end; column += n) {
      Score<kQueries, 1>(head, scale, queries, column, largest);
    }
  }
}

// Calls visit(column) for each vector of [begin, end).
template <typename Visit>
HWY_INLINE void ForVectors(int64_t begin, int64_t end, const Visit& visit) {
  const auto n = static_cast<int64_t>(hn::Lanes(Lanes()));
  for (int64_t column = begin; column < end; column += n) visit(column);
}

// Scores, of which the largest is among the lanes of `largest`, to weights.
HWY_INLINE void Softmax(const HeadKeys& head, std::span<const KeyRange> seen,
                        Vector largest, float* row) {
  const Lanes d;
  const int64_t row_end = head.columns + kKeyBlock;
  ForVectors(head.columns, row_end, [&](int64_t column) HWY_ATTR {
    largest = hn::Max(largest, hn::LoadU(d, row + column));
  });
  largest = hn::MaxOfLanes(d, largest);

  Vector sum = hn::Zero(d);
  const auto exponentiate = [&](int64_t column) HWY_ATTR {
    const Vector e = hn::Exp(d, hn::Sub(hn::LoadU(d, row + column), largest));
    hn::StoreU(e, d, row + column);
    sum = hn::Add(sum, e);
  };
  const auto hide = [&](int64_t column)
                        HWY_ATTR { hn::StoreU(hn::Zero(d), d, row + column); };
  int64_t next = 0;
  for (const KeyRange& range : seen) {
    ForVectors(next, range.begin, hide);
    ForVectors(range.begin, range.end, exponentiate);
    next = range.end;
  }
  ForVectors(next, head.columns, hide);
  ForVectors(head.columns, row_end, exponentiate);

  const Vector share = hn::Div(hn::Set(d, 1.0F), hn::SumOfLanes(d, sum));
  const auto normalise = [&](int64_t column) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, row + column), share), d, row + column);
  };
  for (const KeyRange& range : seen) {
    ForVectors(range.begin, range.end, normalise);
  }
  ForVectors(head.columns, row_end, normalise);
}

// The weighted sums of kColumns columns of values from `first` on.
template <int kQueries, int kColumns>
HWY_INLINE void Sum(const HeadKeys& head, std::span<const KeyRange> seen,
                    const HeadQuery* queries, int first) {
  const Lanes d;
  const float* values = head.values + first * head.stride;
  Vector sums[kQueries][kColumns];
  for (auto& of_query : sums) {
    for (Vector& sum : of_query) sum = hn::Zero(d);
  }
  const auto add = [&](int64_t column) HWY_ATTR {
    for (int i = 0; i < kColumns; ++i) {
      const Vector value = hn::LoadU(d, values + i * head.stride + column);
      for (int q = 0; q < kQueries; ++q) {
        const Vector weight = hn::LoadU(d, queries[q].row + column);
        sums[q][i] = hn::MulAdd(weight, value, sums[q][i]);
      }
    }
  };
  for (const KeyRange& range : seen) ForVectors(range.begin, range.end, add);
  for (int q = 0; q < kQueries; ++q) {
    for (int i = 0; i < kColumns; ++i) {
      queries[q].attended[first + i] =
          hn::GetLane(hn::SumOfLanes(d, sums[q][i]));
    }
  }
}

template <int kQueries>
HWY_INLINE void AttendTogether(const HeadKeys& head, float scale,
                               std::span<const KeyRange> seen,
                               const HeadQuery* queries) {
  Vector largest[kQueries];
  for (int q = 0; q < kQueries; ++q) {
    largest[q] = hn::LoadU(Lanes(), queries[q].row + head.columns);
  }
  ScoreAll<kQueries>(head, scale, seen, queries, largest);
  for (int q = 0; q < kQueries; ++q) {
    Softmax(head, seen, largest[q], queries[q].row);
  }
  int i = 0;
  for (; i + 4 <= head.value_width; i += 4) {
    Sum<kQueries, 4>(head, seen, queries, i);
  }
  for (; i < head.value_width; ++i) Sum<kQueries, 1>(head, seen, queries, i);
}

void Attend(const HeadKeys& head, float scale, std::span<const KeyRange> seen,
            std::span<const HeadQuery> queries) {
  size_t q = 0;
  for (; q + kQueriesTogether <= queries.size(); q += kQueriesTogether) {
    AttendTogether<kQueriesTogether>(head, scale, seen, &queries[q]);
  }
  for (; q < queries.size(); ++q) {
    AttendTogether<1>(head, scale, seen, &queries[q]);
  }
}

}  // namespace
}  // namespace telltale::model::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace telltale::model {

HWY_EXPORT(Attend);

void Attend(const HeadKeys& head, float scale, std::span<const KeyRange> seen,
            std::span<const HeadQuery> queries) {
  HWY_DYNAMIC_DISPATCH(Attend)(head, scale, seen, queries);
}

}  // namespace telltale::model
#endif
