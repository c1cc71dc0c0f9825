#include "model/scoring/masking_check.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "model/random.h"
#include "model/scoring/attribution.h"

namespace telltale::model {
namespace {

bool Near(int64_t a, int64_t b) { return std::abs(a - b) < kPeakDistance; }

// The keys that have `instant` among their taps.
void AppendKeys(int64_t instant, int stem_taps, std::vector<int64_t>& keys) {
  for (int tap = 0; tap < stem_taps; ++tap) keys.push_back(instant + tap);
}

}  // namespace

std::optional<MaskingPlan> PlanMasking(std::span<const int64_t> pointed,
                                       const Reachable& reachable,
                                       int64_t alarmed, int stem_taps) {
  const size_t count =
      std::min(pointed.size(), static_cast<size_t>(kMaskedInstants));
  if (count == 0) return std::nullopt;
  MaskingPlan plan;
  plan.instants = static_cast<int>(count);
  plan.hidden.resize(2 + count);
  for (size_t i = 0; i < count; ++i) {
    AppendKeys(pointed[i], stem_taps, plan.hidden[1]);
    AppendKeys(pointed[i], stem_taps, plan.hidden[2 + i]);
  }

  std::vector<int64_t> others;
  const int64_t end = std::min(reachable.end, alarmed - kMaskingRecent);
  for (int64_t i = reachable.begin; i < end; ++i) {
    const auto near = [i](int64_t other) { return Near(i, other); };
    if (std::ranges::none_of(pointed.first(count), near)) others.push_back(i);
  }
  Random random(static_cast<uint64_t>(alarmed));
  for (int draw = 0; draw < kMaskingDraws; ++draw) {
    std::vector<int64_t> left = others;
    std::vector<int64_t>& keys = plan.hidden.emplace_back();
    for (size_t i = 0; i < count; ++i) {
      if (left.empty()) return std::nullopt;
      const int64_t drawn = left[static_cast<size_t>(
          random.Below(static_cast<int64_t>(left.size())))];
      AppendKeys(drawn, stem_taps, keys);
      std::erase_if(left, [&](int64_t other) { return Near(drawn, other); });
    }
  }
  return plan;
}

void FillMasking(const MaskingPlan& plan, std::span<const float> forecasts,
                 float deviation, InstantScore& score) {
  // What is observed stays, so the residual changes as the forecast does.
  const auto change = [&](size_t set) {
    return std::abs(forecasts[set] - forecasts[0]) / deviation;
  };
  const auto count = static_cast<size_t>(plan.instants);
  MaskingCheck& check = score.masking.emplace();
  check.instants = plan.instants;
  check.pointed = change(1);
  for (size_t i = 0; i < count; ++i) {
    score.points_back_to[i].masking_change = change(2 + i);
  }
  float sum = 0;
  for (size_t set = 2 + count; set < plan.hidden.size(); ++set) {
    sum += change(set);
  }
  check.random = sum / kMaskingDraws;
}

}  // namespace telltale::model
