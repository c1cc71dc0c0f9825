#include "server/streaming/stream_registry.h"

#include <utility>

#include "absl/strings/str_format.h"

namespace telltale::server {

StreamRegistry::Lease::Lease(StreamRegistry& registry, StreamKey key)
    : registry_(registry), key_(std::move(key)) {}

StreamRegistry::Lease::~Lease() {
  const std::lock_guard lock(registry_.mutex_);
  registry_.open_.erase(key_);
}

absl::StatusOr<std::unique_ptr<StreamRegistry::Lease>> StreamRegistry::Open(
    const StreamKey& key) {
  const std::lock_guard lock(mutex_);
  if (open_.contains(key)) {
    return absl::AbortedError(absl::StrFormat(
        "stream '%s' is open already: a stream has one client at a time",
        key.stream));
  }
  if (static_cast<int>(open_.size()) >= max_streams_) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("stream '%s' cannot be opened: %d streams are open, "
                        "as many as this server takes",
                        key.stream, max_streams_));
  }
  open_.insert(key);
  return std::make_unique<Lease>(*this, key);
}

int StreamRegistry::open_streams() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(open_.size());
}

}  // namespace telltale::server
