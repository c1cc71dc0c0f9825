#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/detector.h"
#include "proto/telltale/v1/score.pb.h"
#include "server/streaming/attention_budget.h"

namespace telltale::server {

// The attention rows of a window as messages, made one by one, since together
// they would take as much memory as the rows. Not thread-safe.
class AttentionBlocks {
 public:
  // Keeps `share` as long as the rows. It may be null.
  AttentionBlocks(std::vector<model::AttentionRows> rows,
                  std::shared_ptr<const AttentionBudget::Share> share);

  // The next block, of at most 256 KiB of weights (or a single row), by layer,
  // head and time. False: there are no more, and the rows are gone.
  bool Next(::telltale::v1::AttentionRows& block);

 private:
  std::vector<model::AttentionRows> rows_;
  std::shared_ptr<const AttentionBudget::Share> share_;
  // What comes next.
  size_t layer_ = 0;  // index in rows_
  int head_ = 0;
  int64_t query_ = 0;
};

}  // namespace telltale::server
