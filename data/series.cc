#include "data/series.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace telltale::data {

absl::StatusOr<Window> Series::Slice(int begin, int end) const {
  assert(0 <= begin && begin < end && end <= length());
  const ptrdiff_t width = channels.size();
  return Window::Create(
      {time_ns.begin() + begin, time_ns.begin() + end},
      {samples.begin() + begin * width, samples.begin() + end * width},
      channels.size());
}

int64_t Series::CadenceNs() const {
  constexpr int64_t kSecondNs = 1'000'000'000;
  if (time_ns.size() < 2) return kSecondNs;

  std::vector<int64_t> steps(time_ns.size() - 1);
  for (size_t t = 0; t < steps.size(); ++t) {
    // Unsigned, because two stamps of opposite sign may lie further apart
    // than int64 reaches; the median of a real run does not.
    steps[t] = static_cast<int64_t>(static_cast<uint64_t>(time_ns[t + 1]) -
                                    static_cast<uint64_t>(time_ns[t]));
  }
  const auto middle = steps.begin() + static_cast<ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return *middle;
}

}  // namespace telltale::data
