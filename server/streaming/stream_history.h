#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "absl/status/statusor.h"

#include "data/window.h"
#include "server/storage/score_store.h"

namespace telltale::server {

// The last instants of a stored stream in one window, and where they belong:
// advancing a new stream that starts at `first_instant` over `window` rebuilds
// the stream's state.
struct Replay {
  int64_t first_instant = 0;
  std::optional<data::Window> window;  // absent: nothing to replay
};

// The last `instants` that the windows of `tail` added to their stream, at
// most. kDataLoss: they do not fit together.
absl::StatusOr<Replay> ReplayOf(const StreamTail& tail, int64_t instants);

// The time stamps that a stream has lately advanced over: tells an instant that
// is known already from one that comes late.
class RecentInstants {
 public:
  explicit RecentInstants(int64_t capacity) : capacity_(capacity) {}

  // `time_ns` rises, and from the last one on.
  void Add(std::span<const int64_t> time_ns);
  bool Contains(int64_t time_ns) const;

 private:
  int64_t capacity_;
  std::deque<int64_t> time_ns_;  // rising; at most capacity_
};

}  // namespace telltale::server
