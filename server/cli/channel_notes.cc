#include "server/cli/channel_notes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "absl/strings/str_format.h"

namespace telltale::server {
namespace {

using data::ChannelKind;
using data::ChannelSet;
using data::ChannelSummary;

// So many names are told; the others are counted.
constexpr size_t kMostNames = 8;

// Where single precision tells apart no less than a sixteenth, a channel that
// takes few of its steps may have lost what it did between them.
constexpr float kFarFromZero = 1e6F;
constexpr float kFewSteps = 32;

// Between neighbouring numbers of this magnitude.
float StepAt(float magnitude) {
  return std::nextafter(magnitude, std::numeric_limits<float>::infinity()) -
         magnitude;
}

float Largest(const ChannelSummary& summary) {
  return std::max(std::abs(summary.lowest), std::abs(summary.highest));
}

bool IsSwallowed(const ChannelSummary& summary) {
  const float largest = Largest(summary);
  return summary.samples > 0 && largest >= kFarFromZero &&
         summary.highest - summary.lowest < kFewSteps * StepAt(largest);
}

std::string Names(const ChannelSet& channels,
                  std::span<const ChannelSummary> summaries,
                  const std::function<bool(int)>& wanted) {
  std::string names;
  size_t count = 0;
  for (int c = 0; c < static_cast<int>(summaries.size()); ++c) {
    if (!wanted(c)) continue;
    if (++count > kMostNames) continue;
    names += names.empty() ? "" : ", ";
    names += channels[c].name;
  }
  if (count > kMostNames) {
    names += absl::StrFormat(" and %d more", count - kMostNames);
  }
  return names;
}

}  // namespace

std::vector<std::string> ChannelNotes(
    const ChannelSet& channels, std::span<const ChannelSummary> summaries) {
  const auto at = [&](int c) { return summaries[static_cast<size_t>(c)]; };
  const auto names = [&](const std::function<bool(int)>& wanted) {
    return Names(channels, summaries, wanted);
  };
  std::vector<std::string> notes;
  const std::string absent = names([&](int c) { return at(c).samples == 0; });
  if (!absent.empty()) {
    notes.push_back("without a sample, and so never judged: " + absent);
  }
  const std::string still = names([&](int c) {
    return channels[c].kind == ChannelKind::kContinuous && at(c).constant() &&
           !IsSwallowed(at(c));
  });
  if (!still.empty()) {
    notes.push_back("never changing, so that any change is an anomaly: " +
                    still);
  }
  const std::string swallowed = names([&](int c) {
    return channels[c].kind == ChannelKind::kContinuous && IsSwallowed(at(c));
  });
  if (!swallowed.empty()) {
    notes.push_back(
        "too far from zero for single precision to tell what they do "
        "(1,000,000,000 is 64 from its neighbour); subtract an offset in the "
        "recordings and in what is scored: " +
        swallowed);
  }
  return notes;
}

}  // namespace telltale::server
