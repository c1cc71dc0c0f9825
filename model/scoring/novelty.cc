#include "model/scoring/novelty.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/scoring/byte_io.h"

namespace telltale::model {

Novelty DistanceFromBank(std::span<const float> point, const Matrix& bank) {
  constexpr int kTaps = NoveltyScoring::kTaps;
  std::array<float, NoveltyScoring::kBankSize> squares{};
  std::array<float, NoveltyScoring::kBankSize> sums{};
  const int64_t points = bank.columns();
  for (int tap = 0; tap < kTaps; ++tap) {
    const float x = point[static_cast<size_t>(tap)];
    const float* row = bank.Row(tap);
    for (int64_t i = 0; i < points; ++i) {
      const float difference = x - row[i];
      squares[static_cast<size_t>(i)] += difference * difference;
      sums[static_cast<size_t>(i)] += difference;
    }
  }
  float nearest = squares[0];
  float shape = squares[0] - sums[0] * sums[0] / kTaps;
  for (size_t i = 1; i < static_cast<size_t>(points); ++i) {
    nearest = std::min(nearest, squares[i]);
    shape = std::min(shape, squares[i] - sums[i] * sums[i] / kTaps);
  }
  Novelty novelty;
  novelty.distance = std::sqrt(nearest / kTaps);
  novelty.habituated = novelty.distance;
  novelty.shape = std::sqrt(std::max(shape, 0.0F) / kTaps);
  return novelty;
}

NoveltyTracker::NoveltyTracker(const NoveltyScoring& scoring)
    : scoring_(&scoring) {
  for (size_t c = 0; c < scoring.banks.size(); ++c) {
    if (scoring.banks[c].columns() > 0)
      followed_.push_back(static_cast<int>(c));
  }
  last_.assign(followed_.size(), 0.0F);
  past_.assign(followed_.size() * kPast, 0);
  square_.assign(followed_.size() * kLags, 0);
}

// The sample `ago` instants before the newest one.
int64_t& NoveltyTracker::Past(size_t channel, int64_t ago) {
  const auto slot = static_cast<size_t>((count_ + kPast - ago) % kPast);
  return past_[channel * kPast + slot];
}

void NoveltyTracker::Push(std::span<const float> samples,
                          std::span<Novelty> novelty) {
  for (size_t i = 0; i < followed_.size(); ++i) {
    const auto channel = static_cast<size_t>(followed_[i]);
    if (!std::isnan(samples[channel])) {
      last_[i] = std::clamp(samples[channel], -kLargest, kLargest);
    }
    novelty[i] = Follow(i, last_[i], scoring_->banks[channel]);
  }
  ++count_;
}

Novelty NoveltyTracker::Follow(size_t channel, float sample,
                               const Matrix& bank) {
  constexpr int kTaps = NoveltyScoring::kTaps;
  const int64_t now = std::lround(sample * kUnit);
  Past(channel, 0) = now;
  std::array<float, kTaps> point;
  for (int tap = 0; tap < kTaps; ++tap) {
    // Before the stream began its first sample held.
    const int64_t ago = std::min<int64_t>(kTaps - 1 - tap, count_);
    point[static_cast<size_t>(tap)] =
        static_cast<float>(Past(channel, ago)) / kUnit;
  }
  Novelty novelty = DistanceFromBank(point, bank);

  // Of each lag, the pair that enters the last kTaps and the one that leaves.
  const int64_t left = Past(channel, kTaps);
  int64_t nearest = -1;
  int64_t* square = &square_[channel * kLags];
  for (int lag = NoveltyScoring::kNearestLag;
       lag <= NoveltyScoring::kFarthestLag; ++lag, ++square) {
    const int64_t entering = now - Past(channel, lag);
    const int64_t leaving = left - Past(channel, lag + kTaps);
    *square += entering * entering - leaving * leaving;
    if (count_ < lag + kTaps - 1) continue;
    if (nearest < 0 || *square < nearest) nearest = *square;
  }
  if (nearest >= 0) {
    const auto own = static_cast<float>(
        std::sqrt(static_cast<double>(nearest) / kTaps) / kUnit);
    novelty.habituated = std::min(novelty.habituated, own);
  }
  return novelty;
}

void NoveltyTracker::Save(std::string& bytes) const {
  AppendBytes(last_, bytes);
  AppendBytes(past_, bytes);
  AppendBytes(square_, bytes);
  AppendBytes(&count_, 1, bytes);
}

bool NoveltyTracker::Restore(std::string_view& bytes) {
  return TakeBytes(bytes, last_) && TakeBytes(bytes, past_) &&
         TakeBytes(bytes, square_) && TakeBytes(bytes, &count_, 1) &&
         count_ >= 0;
}

}  // namespace telltale::model
