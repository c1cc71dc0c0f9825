#pragma once

#include <memory>
#include <mutex>
#include <set>

#include "absl/status/statusor.h"

#include "server/storage/score_store.h"

namespace telltale::server {

// Which streams are open, so that each has one client at a time. Thread-safe.
// Must outlive its leases.
class StreamRegistry {
 public:
  // Keeps a stream open until it is destroyed.
  class Lease {
   public:
    Lease(StreamRegistry& registry, StreamKey key);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    const StreamKey& key() const { return key_; }

   private:
    StreamRegistry& registry_;
    const StreamKey key_;
  };

  explicit StreamRegistry(int max_streams) : max_streams_(max_streams) {}

  // kAborted: another client has it. kResourceExhausted: too many are open.
  absl::StatusOr<std::unique_ptr<Lease>> Open(const StreamKey& key);

  int open_streams() const;

 private:
  const int max_streams_;
  mutable std::mutex mutex_;
  std::set<StreamKey> open_;  // guarded by mutex_; at most max_streams_
};

}  // namespace telltale::server
