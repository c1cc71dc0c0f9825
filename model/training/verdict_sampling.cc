#include "model/training/verdict_sampling.h"

#include <algorithm>
#include <cstdint>

namespace telltale::model {
namespace {

// Windows drawn to find out how often they show a fault.
constexpr int kTrials = 2'000;

// An instant counts at most so many times another, however rare its kind.
constexpr double kMostWeight = 100;

}  // namespace

VerdictSampling::VerdictSampling(const WindowSampler& sampler,
                                 const FaultLabels& labels,
                                 std::span<const Range> training, int length)
    : sampler_(sampler), labels_(labels), training_(training), length_(length) {
  for (const Range& range : training) {
    for (const Range& fault : labels.Within(range)) {
      places_.push_back({fault, range});
    }
  }
  if (!places_.empty()) Balance();
}

void VerdictSampling::Balance() {
  Random random(0xba1a);
  int showing = 0;
  for (int i = 0; i < kTrials; ++i) {
    const Range range = sampler_.Draw(training_, length_, random);
    showing += labels_.CountInstants(range) > 0 ? 1 : 0;
  }
  const double share = static_cast<double>(showing) / kTrials;
  if (share < kFaultWindows) {
    aimed_ = (kFaultWindows - share) / (1 - share);
  }
  int64_t faults = 0, instants = 0;
  for (int i = 0; i < kTrials; ++i) {
    const Range range = Draw(random);
    faults += labels_.CountInstants(range);
    instants += range.length();
  }
  const double rate =
      static_cast<double>(faults) / static_cast<double>(instants);
  const auto weight = [](double of) {
    return static_cast<float>(std::min(kMostWeight, 0.5 / of));
  };
  fault_weight_ = weight(rate);
  nominal_weight_ = weight(1 - rate);
}

Range VerdictSampling::Draw(Random& random) const {
  if (aimed_ > 0 && random.Uniform() < aimed_) return DrawAtFault(random);
  return sampler_.Draw(training_, length_, random);
}

// A window that shows at least the fault's first instant.
Range VerdictSampling::DrawAtFault(Random& random) const {
  const Place& place = places_[static_cast<size_t>(
      random.Below(static_cast<int64_t>(places_.size())))];
  const Range& within = place.within;
  const int latest =
      std::max(within.begin, std::min(place.fault.begin, within.end - length_));
  const int earliest =
      std::clamp(place.fault.begin - length_ + 1, within.begin, latest);
  const int begin =
      earliest + static_cast<int>(random.Below(latest - earliest + 1));
  return {within.segment, begin, std::min(begin + length_, within.end)};
}

}  // namespace telltale::model
