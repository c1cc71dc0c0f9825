#include "model/scoring/attention_capture.h"

#include <algorithm>

namespace telltale::model {
namespace {

// Lays one layer's rows side by side over the keys that any of them sees.
void LayOut(const std::vector<AttentionRow>& rows, int64_t first_key,
            int64_t key_count, AttentionRows& out) {
  const auto queries = static_cast<int64_t>(rows.size());
  const int64_t heads = rows.front().weights.rows();
  out.head_count = static_cast<int>(heads);
  out.weights.assign(static_cast<size_t>(heads * queries * key_count), 0.0F);
  out.nothing.assign(static_cast<size_t>(heads * queries), 0.0F);
  for (int64_t q = 0; q < queries; ++q) {
    const AttentionRow& row = rows[static_cast<size_t>(q)];
    for (int64_t head = 0; head < heads; ++head) {
      const int64_t place = head * queries + q;
      std::copy_n(row.weights.Row(head), row.weights.columns(),
                  out.weights.begin() + place * key_count +
                      (row.first_key_index - first_key));
      out.nothing[static_cast<size_t>(place)] =
          row.nothing[static_cast<size_t>(head)];
    }
  }
}

}  // namespace

std::vector<AttentionRows> AttentionCapture::Assemble() const {
  std::vector<AttentionRows> assembled;
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    const std::vector<AttentionRow>& rows = layers_[layer];
    AttentionRows& out = assembled.emplace_back();
    out.layer = static_cast<int>(layer);
    if (rows.empty()) continue;
    int64_t first_key = rows.front().first_key_index;
    for (const AttentionRow& row : rows) {
      first_key = std::min(first_key, row.first_key_index);
      out.query_time_ns.push_back(times_.at(row.query_index));
    }
    const int64_t last_key = rows.back().query_index;
    for (int64_t key = first_key; key <= last_key; ++key) {
      out.key_time_ns.push_back(times_.at(key));
    }
    LayOut(rows, first_key, last_key - first_key + 1, out);
  }
  return assembled;
}

}  // namespace telltale::model
