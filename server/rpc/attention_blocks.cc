#include "server/rpc/attention_blocks.h"

#include <algorithm>
#include <utility>

namespace telltale::server {
namespace {

constexpr int64_t kMaxBlockBytes = 256 << 10;

}  // namespace

AttentionBlocks::AttentionBlocks(
    std::vector<model::AttentionRows> rows,
    std::shared_ptr<const AttentionBudget::Share> share)
    : rows_(std::move(rows)), share_(std::move(share)) {}

bool AttentionBlocks::Next(::telltale::v1::AttentionRows& block) {
  while (layer_ < rows_.size() && (head_ >= rows_[layer_].head_count ||
                                   rows_[layer_].query_time_ns.empty())) {
    rows_[layer_] = {};
    ++layer_;
    head_ = 0;
  }
  if (layer_ == rows_.size()) {
    share_.reset();
    return false;
  }
  const model::AttentionRows& rows = rows_[layer_];
  const auto queries = static_cast<int64_t>(rows.query_time_ns.size());
  const auto keys = static_cast<int64_t>(rows.key_time_ns.size());
  const int64_t row_bytes =
      std::max<int64_t>(1, keys) * static_cast<int64_t>(sizeof(float));
  const int64_t begin = query_;
  const int64_t end = std::min(
      queries, begin + std::max<int64_t>(1, kMaxBlockBytes / row_bytes));
  const int64_t first = head_ * queries + begin;
  const int64_t last = head_ * queries + end;
  block.Clear();
  block.set_layer(rows.layer);
  block.set_head(head_);
  block.mutable_query_time_ns()->Add(rows.query_time_ns.begin() + begin,
                                     rows.query_time_ns.begin() + end);
  block.mutable_key_time_ns()->Add(rows.key_time_ns.begin(),
                                   rows.key_time_ns.end());
  block.mutable_weights()->Add(rows.weights.begin() + first * keys,
                               rows.weights.begin() + last * keys);
  block.mutable_nothing()->Add(rows.nothing.begin() + first,
                               rows.nothing.begin() + last);
  query_ = end == queries ? 0 : end;
  if (query_ == 0) ++head_;
  return true;
}

}  // namespace telltale::server
