#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "data/channel.h"
#include "data/window.h"

namespace telltale::data {

// How a file wrote its time stamps; outputs echo it.
enum class TimeForm {
  kSeconds,  // a number of seconds
  kRfc3339,  // 2026-01-31T12:00:00.5Z
};

// A recorded run: channels, time stamps, and samples row-major in time.
// Missing samples are NaN. Time increases strictly.
struct Series {
  ChannelSet channels;
  TimeForm time_form = TimeForm::kSeconds;
  std::vector<int64_t> time_ns;  // since 1970, or since the run's own zero
  std::vector<float> samples;    // [length, channels.size()]
  std::string name;  // for messages: where it was read from; may be empty

  int length() const { return static_cast<int>(time_ns.size()); }
  std::span<const float> Instant(int t) const {
    const size_t width = channels.size();
    return std::span(samples).subspan(t * width, width);
  }

  // Instants [begin, end) as a window. REQUIRES: 0 <= begin < end <= length().
  absl::StatusOr<Window> Slice(int begin, int end) const;

  // The median step between neighbouring instants, in nanoseconds; 1 s for a
  // single instant.
  int64_t CadenceNs() const;
};

}  // namespace telltale::data
