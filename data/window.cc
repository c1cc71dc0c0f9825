#include "data/window.h"

#include <cassert>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_format.h"

namespace telltale::data {
namespace {

absl::Status CheckTimes(std::span<const int64_t> time_ns) {
  for (size_t t = 1; t < time_ns.size(); ++t) {
    if (time_ns[t] <= time_ns[t - 1]) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "time does not increase at instant %d: %d ns after %d ns", t,
          time_ns[t], time_ns[t - 1]));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSamples(std::span<const float> samples, int channel_count) {
  if (channel_count < 1) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%d channels; at least 1 is needed", channel_count));
  }
  for (size_t i = 0; i < samples.size(); ++i) {
    // A NaN compares false and passes.
    if (std::fabs(samples[i]) > kMaxSample) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "the sample at instant %d, channel %d is %g; expected a magnitude "
          "of at most %g, or NaN for missing",
          i / channel_count, i % channel_count, samples[i], kMaxSample));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Window> Window::Create(std::vector<int64_t> time_ns,
                                      std::vector<float> samples,
                                      int channel_count) {
  if (time_ns.empty()) {
    return absl::InvalidArgumentError(
        "the window is empty; at least 1 instant is needed");
  }
  const absl::Status values = CheckSamples(samples, channel_count);
  if (!values.ok()) return values;
  // Divided, not multiplied: the product of hostile counts might overflow.
  const size_t width = channel_count;
  if (samples.size() % width != 0 || samples.size() / width != time_ns.size()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%d samples do not fit %d instants of %d channels",
                        samples.size(), time_ns.size(), channel_count));
  }
  const absl::Status times = CheckTimes(time_ns);
  if (!times.ok()) return times;
  return Window(std::move(time_ns), std::move(samples), channel_count);
}

Window::Window(std::vector<int64_t> time_ns, std::vector<float> samples,
               int channel_count)
    : time_ns_(std::move(time_ns)),
      samples_(std::move(samples)),
      channel_count_(channel_count) {}

std::span<const float> Window::Instant(int t) const {
  assert(t >= 0 && t < length());
  const size_t width = channel_count_;
  return std::span(samples_).subspan(t * width, width);
}

}  // namespace telltale::data
