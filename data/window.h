#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace telltale::data {

// Samples beyond this magnitude are taken for damage and refused.
inline constexpr float kMaxSample = 1e30F;

// kInvalidArgument, naming instant and channel index, when a sample is
// infinite or exceeds kMaxSample in magnitude. NaN passes: it means missing.
absl::Status CheckSamples(std::span<const float> samples, int channel_count);

// The consecutive instants that a client sends at once: `length()` instants by
// `channel_count()` channels, row-major in time.
//
// Owns its samples. Immutable after creation, so it may be read from any
// thread. Missing samples are NaN.
class Window {
 public:
  // kInvalidArgument unless there is at least one instant and one channel,
  // `samples` holds exactly time_ns.size() x channel_count values that pass
  // CheckSamples, and time increases strictly.
  static absl::StatusOr<Window> Create(std::vector<int64_t> time_ns,
                                       std::vector<float> samples,
                                       int channel_count);

  int length() const { return static_cast<int>(time_ns_.size()); }
  int channel_count() const { return channel_count_; }
  // Nanoseconds since 1970-01-01T00:00:00 UTC, leap seconds not counted.
  std::span<const int64_t> time_ns() const { return time_ns_; }
  std::span<const float> samples() const { return samples_; }

  // All channels at instant `t`. REQUIRES: 0 <= t < length().
  std::span<const float> Instant(int t) const;

 private:
  Window(std::vector<int64_t> time_ns, std::vector<float> samples,
         int channel_count);

  std::vector<int64_t> time_ns_;
  std::vector<float> samples_;
  int channel_count_;
};

}  // namespace telltale::data
