#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "model/detector.h"

namespace telltale::server {

// Bounds the memory of the attention rows that are on their way: from before
// they are computed until the client has them. One for the whole process, since
// the rows of one window take tens of megabytes and any number of streams may
// ask for them. Thread-safe. Must outlive its shares.
class AttentionBudget {
 public:
  // Bytes set aside; given back when it is destroyed.
  class Share {
   public:
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    friend class AttentionBudget;
    Share(AttentionBudget& budget, int64_t bytes)
        : budget_(budget), bytes_(bytes) {}

    AttentionBudget& budget_;
    const int64_t bytes_;
  };

  // REQUIRES: bytes > 0.
  explicit AttentionBudget(int64_t bytes) : bytes_(bytes) {}

  AttentionBudget(const AttentionBudget&) = delete;
  AttentionBudget& operator=(const AttentionBudget&) = delete;

  // Sets aside what the rows of a window of so many instants take, by layers x
  // heads x queries x keys. kInvalidArgument: more than there ever is.
  // kResourceExhausted: more than there is now.
  absl::StatusOr<std::shared_ptr<const Share>> Reserve(
      const model::ModelDescription& model, int64_t instants);
  // Whether there could be room for such a window at all: OK or
  // kInvalidArgument.
  absl::Status Check(const model::ModelDescription& model,
                     int64_t instants) const;

  // What is set aside.
  int64_t reserved() const;

 private:
  const int64_t bytes_;
  mutable std::mutex mutex_;
  int64_t reserved_ = 0;  // guarded by mutex_; 0 to bytes_
};

}  // namespace telltale::server
