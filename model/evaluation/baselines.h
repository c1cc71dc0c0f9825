#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "data/series.h"

namespace telltale::model {

// A detector of a line or two, to be held against a real one.
struct Baseline {
  std::string name;
  std::vector<float> scores;  // one for each instant
};

// Uniform random scores; the same for the same seed, on every machine.
Baseline RandomBaseline(int length, uint64_t seed);

// Causal baselines on the continuous channels of `series`, fitted on its own
// instants [0, fit_length): nominal ones, best not evaluated.
//   robust z            largest |x - median| / (1.4826 MAD) over channels
//   mean 50 of |dx|     trailing mean of the steps, over their fitted mean
//   mean 50 of |x - m|  trailing mean of the distances from the median
//   PCA                 squared residual outside the components that hold 95 %
//                       of the fitted variance, averaged over channels
// Missing samples repeat the last valid one (the median before any).
// kInvalidArgument: no continuous channel, or fewer than 10 instants to fit.
absl::StatusOr<std::vector<Baseline>> TrivialBaselines(
    const data::Series& series, int fit_length);

}  // namespace telltale::model
