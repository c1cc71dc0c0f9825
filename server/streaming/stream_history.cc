#include "server/streaming/stream_history.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"

namespace telltale::server {

absl::StatusOr<Replay> ReplayOf(const StreamTail& tail, int64_t instants) {
  Replay replay{.first_instant = tail.instant_count, .window = std::nullopt};
  std::vector<int64_t> time_ns;
  std::vector<float> samples;
  const int width =
      tail.windows.empty() ? 0 : tail.windows.front().model->channels.size();
  int64_t expected = -1;
  for (const WindowRecord& window : tail.windows) {
    const auto length = static_cast<int64_t>(window.time_ns.size());
    const auto values = static_cast<int64_t>(window.samples.size());
    const bool fits = window.added_instants >= 0 &&
                      window.added_instants <= length &&
                      values == length * width &&
                      (expected < 0 || window.first_instant == expected);
    if (!fits) {
      return absl::DataLossError(absl::StrFormat(
          "stored window %d of stream '%s' does not continue the one before; "
          "begin another epoch",
          window.sequence, window.key.stream));
    }
    expected = window.first_instant + window.added_instants;
    // Instants known before were passed over then, and are now.
    const int64_t known = length - window.added_instants;
    time_ns.insert(time_ns.end(), window.time_ns.begin() + known,
                   window.time_ns.end());
    samples.insert(samples.end(), window.samples.begin() + known * width,
                   window.samples.end());
  }
  const auto count = static_cast<int64_t>(time_ns.size());
  const int64_t skip = std::max<int64_t>(0, count - instants);
  replay.first_instant = tail.instant_count - (count - skip);
  if (count == skip) return replay;
  time_ns.erase(time_ns.begin(), time_ns.begin() + skip);
  samples.erase(samples.begin(), samples.begin() + skip * width);
  absl::StatusOr<data::Window> window =
      data::Window::Create(std::move(time_ns), std::move(samples), width);
  if (!window.ok()) {
    return absl::DataLossError(
        absl::StrFormat("the stored windows do not fit together: %s; begin "
                        "another epoch",
                        window.status().message()));
  }
  replay.window = std::move(*window);
  return replay;
}

void RecentInstants::Add(std::span<const int64_t> time_ns) {
  time_ns_.insert(time_ns_.end(), time_ns.begin(), time_ns.end());
  const auto count = static_cast<int64_t>(time_ns_.size());
  if (count > capacity_) {
    time_ns_.erase(time_ns_.begin(), time_ns_.begin() + (count - capacity_));
  }
}

bool RecentInstants::Contains(int64_t time_ns) const {
  return std::binary_search(time_ns_.begin(), time_ns_.end(), time_ns);
}

}  // namespace telltale::server
