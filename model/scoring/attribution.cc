#include "model/scoring/attribution.h"

#include <algorithm>
#include <cstdlib>

#include "model/scoring/byte_io.h"

namespace telltale::model {
namespace {

// How far around a candidate its surprise is looked for.
constexpr int kReach = 2;

// Bounds of the surprise that weighs a candidate: below one deviation nothing
// happened there, and beyond twenty no more happened than at twenty.
constexpr float kLeastDeviations = 0.5F;
constexpr float kMostDeviations = 20;

// The largest surprise within kReach of an instant.
const Surprise* LargestAround(const SurpriseLog& log, int64_t index) {
  const Surprise* largest = nullptr;
  for (int64_t i = index - kReach; i <= index + kReach; ++i) {
    const Surprise* surprise = log.Find(i);
    if (surprise == nullptr) continue;
    if (largest == nullptr || surprise->deviations > largest->deviations) {
      largest = surprise;
    }
  }
  return largest;
}

}  // namespace

SurpriseLog::SurpriseLog(int64_t length)
    : surprises_(static_cast<size_t>(length)),
      indices_(static_cast<size_t>(length), -1) {}

void SurpriseLog::Record(int64_t index, const Surprise& surprise) {
  const auto row = static_cast<size_t>(index) % surprises_.size();
  surprises_[row] = surprise;
  indices_[row] = index;
}

const Surprise* SurpriseLog::Find(int64_t index) const {
  if (index < 0) return nullptr;
  const auto row = static_cast<size_t>(index) % surprises_.size();
  return indices_[row] == index ? &surprises_[row] : nullptr;
}

void SurpriseLog::Save(std::string& bytes) const {
  AppendBytes(surprises_, bytes);
  AppendBytes(indices_, bytes);
}

bool SurpriseLog::Restore(std::string_view& bytes) {
  return TakeBytes(bytes, surprises_) && TakeBytes(bytes, indices_);
}

std::vector<PointedInstant> RankEarlierInstants(std::span<const float> readout,
                                                int64_t first, int taps,
                                                const SurpriseLog& log,
                                                int64_t alarmed,
                                                int64_t alarmed_time_ns,
                                                CandidateWeight weight) {
  const int64_t shift = (taps - 1) / 2;
  struct Candidate {
    int64_t index;
    float weight;
  };
  std::vector<Candidate> candidates;
  double total = 0;
  for (size_t i = 0; i < readout.size(); ++i) {
    const int64_t index = first + static_cast<int64_t>(i) - shift;
    if (index >= alarmed) break;  // only what came before can have led to it
    const Surprise* around = LargestAround(log, index);
    if (around == nullptr || log.Find(index) == nullptr) continue;
    const float z =
        weight == CandidateWeight::kSurprise
            ? std::clamp(around->deviations, kLeastDeviations, kMostDeviations)
            : 1;
    candidates.push_back({index, readout[i] * z * z * z});
    total += candidates.back().weight;
  }
  std::ranges::stable_sort(candidates, [](const auto& a, const auto& b) {
    return a.weight > b.weight;
  });

  std::vector<PointedInstant> ranked;
  for (const Candidate& candidate : candidates) {
    if (static_cast<int>(ranked.size()) == kPointedInstants) break;
    const auto near = [&](const PointedInstant& taken) {
      return std::abs(alarmed - taken.lag - candidate.index) < kPeakDistance;
    };
    if (std::ranges::any_of(ranked, near)) continue;
    PointedInstant& pointed = ranked.emplace_back();
    pointed.time_ns = log.Find(candidate.index)->time_ns;
    pointed.lag = static_cast<int>(alarmed - candidate.index);
    pointed.lag_seconds =
        static_cast<double>(alarmed_time_ns - pointed.time_ns) * 1e-9;
    pointed.weight =
        total > 0 ? static_cast<float>(candidate.weight / total) : 0;
    pointed.channel = LargestAround(log, candidate.index)->channel;
  }
  return ranked;
}

}  // namespace telltale::model
