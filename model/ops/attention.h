#pragma once

#include <cstdint>
#include <span>

namespace telltale::model {

// Keys are read so many at a time: what bounds a range of columns.
inline constexpr int64_t kKeyBlock = 16;

// Floats from row to row of so many columns of keys or values: an odd number of
// cache lines, so that a column's rows do not contend for one set of a cache.
inline constexpr int64_t KeyStride(int64_t columns) {
  return (columns + kKeyBlock - 1) / kKeyBlock / 2 * 2 * kKeyBlock + kKeyBlock;
}

// Columns [begin, end) of a row of scores, multiples of kKeyBlock.
struct KeyRange {
  int64_t begin = 0, end = 0;
};

// The keys and values of one head, a key a column.
struct HeadKeys {
  const float* keys = nullptr;    // [query_width, columns]
  const float* values = nullptr;  // [value_width, columns]
  int64_t stride = 0;             // from row to row of both
  int64_t columns = 0;            // a multiple of kKeyBlock
  int query_width = 0;
  int value_width = 0;
};

// So many queries share the loading of keys.
inline constexpr size_t kQueriesTogether = 4;

// One query and where its results go.
struct HeadQuery {
  const float* query = nullptr;  // [query_width]
  float* row = nullptr;          // [columns + kKeyBlock]
  float* attended = nullptr;     // [value_width]
};

// Attention of the queries of one head: row = softmax(scale * query·keys +
// row), attended = values·row.
//
// A row begins as what is added to the scores, masked ones far below the
// others; of its last block, past the keys, the scores count without keys or
// values. Only the keys in `seen`, rising and apart, are looked at: the weights
// of others become exactly zero, and leaving out a masked key changes no bit.
// Every sum is in the order of the columns, so that a query's result depends on
// itself and its keys alone, not on the queries beside it.
void Attend(const HeadKeys& head, float scale, std::span<const KeyRange> seen,
            std::span<const HeadQuery> queries);

}  // namespace telltale::model
