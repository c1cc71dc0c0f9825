#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/detector.h"

namespace telltale::model {

// How unusual an instant was when it came.
struct Surprise {
  int64_t time_ns = 0;
  float deviations = 0;  // the largest explained residual, in deviations
  int channel = 0;       // whose it was, in the model's channel set
};

// The surprises of a stream's recent instants.
class SurpriseLog {
 public:
  explicit SurpriseLog(int64_t length);

  void Record(int64_t index, const Surprise& surprise);
  // Null when the instant is not, or no longer, known.
  const Surprise* Find(int64_t index) const;

  void Save(std::string& bytes) const;
  bool Restore(std::string_view& bytes);

 private:
  std::vector<Surprise> surprises_;  // a ring
  std::vector<int64_t> indices_;     // -1: never written
};

// Ranks the earlier instants that an alarm points back to: peaks of the
// read-out, weighed by how unusual the instant itself was or by nothing else,
// at least kPeakDistance apart.
//
// readout[i] stands for the `taps` instants up to first + i, and is taken for
// the middle of them. Returns at most
// kPointedInstants, strongest first, with weights relative to the sum over all
// candidates.
enum class CandidateWeight { kSurprise, kReadout };
inline constexpr int kPointedInstants = 8;
inline constexpr int kPeakDistance = 6;
std::vector<PointedInstant> RankEarlierInstants(
    std::span<const float> readout, int64_t first, int taps,
    const SurpriseLog& log, int64_t alarmed, int64_t alarmed_time_ns,
    CandidateWeight weight = CandidateWeight::kSurprise);

}  // namespace telltale::model
