#include "model/scoring/threshold.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <vector>

namespace telltale::model {
namespace {

// Standard deviations of the count that are kept in hand.
constexpr double kMargin = 1.5;

// P(N <= count) for a Poisson mean.
double PoissonCdf(int64_t count, double mean) {
  double log_term = -mean;
  double sum = std::exp(log_term);
  for (int64_t k = 1; k <= count; ++k) {
    log_term += std::log(mean / static_cast<double>(k));
    sum += std::exp(log_term);
  }
  return sum;
}

// The mean at which PoissonCdf(count, mean) falls to `probability`.
double SolveMean(int64_t count, double probability) {
  double low = 1e-9;
  double high = 20 + 4.0 * static_cast<double>(count);
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (PoissonCdf(count, middle) > probability ? low : high) = middle;
  }
  return low;
}

}  // namespace

int64_t CountEvents(std::span<const float> scores, float threshold) {
  int64_t events = 0;
  int64_t last = -kEventGap;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!(scores[i] > threshold)) continue;
    const auto now = static_cast<int64_t>(i);
    if (now - last >= kEventGap) ++events;
    last = now;
  }
  return events;
}

float ThresholdForBudget(std::span<const float> scores, double budget_per_10k) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!std::isnan(scores[i])) order.push_back(static_cast<int64_t>(i));
  }
  if (order.empty()) return 0;
  const auto score = [&](int64_t i) { return scores[static_cast<size_t>(i)]; };
  std::ranges::sort(order, [&](int64_t a, int64_t b) {
    return score(a) != score(b) ? score(a) > score(b) : a < b;
  });
  // The n with n + kMargin sqrt(n) = the budget's mean.
  const double mean =
      budget_per_10k * static_cast<double>(order.size()) / 10'000;
  const double root = std::sqrt(mean + kMargin * kMargin / 4) - kMargin / 2;
  const double allowed = root * root;
  if (allowed < 1) {
    return score(order.front()) -
           static_cast<float>(std::log10(std::min(1.0, mean)));
  }

  // Instants above the threshold, and into how many events they fall.
  std::set<int64_t> alarms;
  int64_t events = 0;
  for (size_t n = 0; n < order.size(); ++n) {
    const int64_t i = order[n];
    const auto [place, inserted] = alarms.insert(i);
    const bool has_before = place != alarms.begin();
    const bool has_after = std::next(place) != alarms.end();
    const int64_t before = has_before ? *std::prev(place) : 0;
    const int64_t after = has_after ? *std::next(place) : 0;
    const bool joins_before = has_before && i - before < kEventGap;
    const bool joins_after = has_after && after - i < kEventGap;
    const bool were_joined =
        has_before && has_after && after - before < kEventGap;
    events += 1 - static_cast<int64_t>(joins_before) -
              static_cast<int64_t>(joins_after) +
              static_cast<int64_t>(were_joined);
    // Equal scores stand above a threshold together or not at all.
    const bool last_alike =
        n + 1 == order.size() || score(order[n + 1]) != score(i);
    if (last_alike && static_cast<double>(events) > allowed) return score(i);
  }
  return score(order.back());
}

CountInterval PoissonInterval(int64_t count) {
  constexpr double kTail = 0.025;
  return {count == 0 ? 0 : SolveMean(count - 1, 1 - kTail),
          SolveMean(count, kTail)};
}

}  // namespace telltale::model
