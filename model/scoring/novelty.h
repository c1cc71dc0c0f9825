#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/matrix.h"

namespace telltale::model {

// How unlike anything known the recent samples of a channel are, whatever was
// forecast: where a channel cannot be forecast, residuals are blind.
//
// The last kTaps samples (scaled) are a point; distances are root mean squares
// over the taps. A bank holds the points of training that lie farthest apart.
struct NoveltyScoring {
  static constexpr int kTaps = 16;
  static constexpr int kBankSize = 256;
  // The stream's own points of so many instants ago are known as well: what
  // has become usual is no longer novel.
  static constexpr int kNearestLag = 48;
  static constexpr int kFarthestLag = 512;

  // [T]: what novelty weighs against the residuals of a channel; 0 where
  // forecasts are good enough for residuals to tell more.
  std::vector<float> weight;
  std::vector<Matrix> banks;  // [T]: [kTaps, points]; empty where weight is 0
};

// The distances of one instant.
struct Novelty {
  float habituated = 0;  // from the bank and from the stream's own past
  float shape = 0;       // from the bank, each point's mean taken off
  float distance = 0;    // from the bank
};

// The distances of a point[kTaps] from a bank.
Novelty DistanceFromBank(std::span<const float> point, const Matrix& bank);

// Follows the channels of one stream that have a bank. What it says depends on
// the last kFarthestLag + kTaps instants.
class NoveltyTracker {
 public:
  // Views the scoring.
  explicit NoveltyTracker(const NoveltyScoring& scoring);

  // Channels that have a bank, rising.
  const std::vector<int>& followed() const { return followed_; }

  // Takes the scaled samples[T] of the next instant (NaN: the last one still
  // holds); writes a Novelty for each channel followed.
  void Push(std::span<const float> samples, std::span<Novelty> novelty);

  void Save(std::string& bytes) const;
  bool Restore(std::string_view& bytes);

 private:
  static constexpr int kLags =
      NoveltyScoring::kFarthestLag - NoveltyScoring::kNearestLag + 1;
  static constexpr int kPast =
      NoveltyScoring::kFarthestLag + NoveltyScoring::kTaps + 1;

  // Fixed point, so that running sums are exact: a sum that is carried on for
  // months equals one that was begun anew.
  static constexpr float kUnit = 1024;
  static constexpr float kLargest = 1 << 12;

  int64_t& Past(size_t channel, int64_t ago);
  Novelty Follow(size_t channel, float sample, const Matrix& bank);

  const NoveltyScoring* scoring_;
  std::vector<int> followed_;
  std::vector<float> last_;      // [followed]: the last valid sample
  std::vector<int64_t> past_;    // [followed, kPast]: samples, rings
  std::vector<int64_t> square_;  // [followed, kLags]: squared distances so far
  int64_t count_ = 0;            // instants pushed
};

}  // namespace telltale::model
