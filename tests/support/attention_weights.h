#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/layers/multi_head_attention.h"
#include "tests/support/plain_math.h"

namespace telltale::model {

// The weights that a forward pass kept, one [count, count + 1] matrix a head;
// the last column is the weight on nothing.
inline std::vector<PlainMatrix> AttentionWeights(
    const AttentionActivations& activations, int heads, int64_t count) {
  std::vector<PlainMatrix> weights(static_cast<size_t>(heads),
                                   PlainMatrix(count, count + 1));
  for (const AttentionActivations::Block& block : activations.blocks) {
    const int64_t queries = block.query_end - block.query_begin;
    const int64_t keys = block.key_end - block.key_begin;
    for (int head = 0; head < heads; ++head) {
      PlainMatrix& of_head = weights[static_cast<size_t>(head)];
      for (int64_t q = 0; q < queries; ++q) {
        const float* row = block.weights.Row(head * queries + q);
        const int64_t query = block.query_begin + q;
        std::copy_n(row, keys, &of_head.At(query, block.key_begin));
        of_head.At(query, count) = row[block.columns];
      }
    }
  }
  return weights;
}

}  // namespace telltale::model
