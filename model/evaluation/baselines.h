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

// Causal baselines on the channels that are continuous in `series` or in
// `nominal`, on which they are fitted:
//   robust z            largest |x - median| over channels, in deviations
//                       (1.4826 MAD, and at least a tenth of the standard one)
//   mean 50 of |dx|     largest trailing mean of 50 steps, over its nominal
//   mean mean 50 of |x - m|  the same of the distances from the median PCA
//   squared residual of the last 8 instants outside the
//                       components that hold 95 % of the nominal variance
//                       (fewer instants where there are more than 32 channels,
//                       left out where there are more than 256)
// Missing samples repeat the last valid one, and the median before any.
// kInvalidArgument: channels of other names, no continuous one, or fewer than
// 100 nominal instants.
absl::StatusOr<std::vector<Baseline>> TrivialBaselines(
    const data::Series& nominal, const data::Series& series);

}  // namespace telltale::model
