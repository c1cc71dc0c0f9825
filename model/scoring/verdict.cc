#include "model/scoring/verdict.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "model/scoring/verdict_threshold.h"

namespace telltale::model {

namespace {

// What evidence weighs, for a share, of a channel without a residual of its
// own, against one whose residual is the largest.
constexpr double kLeastWeight = 0.1;

// What each channel's share is in proportion to.
std::vector<double> Parts(std::span<const ChannelEvidence> evidence) {
  float largest = 0;
  for (const ChannelEvidence& channel : evidence) {
    largest = std::max(largest, channel.magnitude);
  }
  std::vector<double> parts;
  for (const ChannelEvidence& channel : evidence) {
    const double own =
        largest > 0 ? static_cast<double>(channel.magnitude) / largest : 1;
    parts.push_back(static_cast<double>(channel.evidence) * channel.evidence *
                    std::max(kLeastWeight, own));
  }
  return parts;
}

}  // namespace

Severity SeverityOf(float score, float threshold) {
  const float beyond = score - threshold;
  if (!(beyond > 0)) return Severity::kNormal;
  if (beyond < 1) return Severity::kWatch;
  if (beyond < 2) return Severity::kWarning;
  if (beyond < 4) return Severity::kDistress;
  if (beyond < 8) return Severity::kCritical;
  return Severity::kSevere;
}

void FillVerdict(const Checkpoint& checkpoint,
                 std::span<const ChannelEvidence> evidence,
                 InstantScore& score) {
  float most = 0;
  for (const ChannelEvidence& channel : evidence) {
    most = std::max(most, channel.evidence);
  }
  const float threshold = checkpoint.threshold.threshold;
  score.state = InstantState::kScored;
  score.score = checkpoint.combined.Evidence(most);
  score.probability = 1 - std::pow(10.0F, -score.score);
  score.anomaly = score.score > threshold;
  score.severity = SeverityOf(score.score, threshold);
}

bool AddVerdict(const Checkpoint& checkpoint, float logit,
                InstantScore& score) {
  const float threshold = checkpoint.threshold.verdict_logit;
  score.verdict = VerdictProbability(logit);
  if (!(logit > threshold)) return false;
  const float decades =
      (logit - threshold) / static_cast<float>(std::numbers::ln10);
  score.anomaly = true;
  score.severity = std::max(score.severity, SeverityOf(decades, 0));
  return true;
}

void FillContributions(
    std::span<const ChannelEvidence> evidence, std::span<const int> targets,
    std::span<const float> samples,
    const std::function<float(int target, int horizon)>& expected,
    InstantScore& score) {
  const std::vector<double> parts = Parts(evidence);
  const double total = std::accumulate(parts.begin(), parts.end(), 0.0);
  std::vector<int> order;
  for (size_t i = 0; i < evidence.size(); ++i) {
    if (evidence[i].horizon >= 0) order.push_back(static_cast<int>(i));
  }
  const auto stronger = [&](int a, int b) {
    const double first = parts[static_cast<size_t>(a)];
    const double second = parts[static_cast<size_t>(b)];
    return first != second ? first > second : a < b;
  };
  if (score.anomaly) {
    std::ranges::sort(order, stronger);
  } else {
    // Only the first is told.
    const auto first = std::ranges::min_element(order, stronger);
    std::iter_swap(order.begin(), first);
    order.resize(1);
  }
  for (int target : order) {
    const ChannelEvidence& channel = evidence[static_cast<size_t>(target)];
    const int index = targets[static_cast<size_t>(target)];
    const double part = parts[static_cast<size_t>(target)];
    score.contributions.push_back(
        {.channel = index,
         .share = static_cast<float>(
             total > 0 ? part / total
                       : 1.0 / static_cast<double>(evidence.size())),
         .observed = samples[static_cast<size_t>(index)],
         .expected = expected(target, channel.horizon)});
  }
}

Surprise FindSurprise(const ResidualScoring& scoring,
                      std::span<const int> targets,
                      std::span<const float> explained, int64_t time_ns) {
  Surprise surprise{
      .time_ns = time_ns, .deviations = 0, .channel = targets.front()};
  for (int h = 0; h < scoring.horizons; ++h) {
    for (int c = 0; c < scoring.targets; ++c) {
      const float deviations = std::abs(explained[scoring.Index(h, c)]);
      if (deviations > surprise.deviations) {  // never so for a missing one
        surprise.deviations = deviations;
        surprise.channel = targets[static_cast<size_t>(c)];
      }
    }
  }
  return surprise;
}

}  // namespace telltale::model
