#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "model/encoder_config.h"
#include "model/matrix.h"
#include "model/parameters.h"

namespace telltale::model {

// Encoders small enough to be computed by plain loops, one for each way in
// which the code can branch.

// The textbook's layer: queries, keys and values all from the layer's own
// input, as wide as the model together, no stem to speak of.
EncoderConfig TextbookConfig();
// The shipped architecture, smaller: two layers, the last one with keys and
// values from the stem, blind heads, distance bias and null logit.
EncoderConfig SmallConfig();
// The shipped architecture as it is, for three channels.
EncoderConfig ShippedConfig();

struct EncoderCase {
  std::string name;
  EncoderConfig config;
  bool irregular = false;  // positions with gaps and fractions
};

inline void PrintTo(const EncoderCase& c, std::ostream* out) { *out << c.name; }

// Textbook with and without rotary positions and mask, small, and small with
// irregular positions.
std::vector<EncoderCase> EncoderCases();
// Those of them that can be served: no instant sees a later one.
std::vector<EncoderCase> CausalCases();

// Nothing is zero or one: every term of every formula counts.
Parameters RandomParameters(const EncoderConfig& config, uint64_t seed);

// Standard normal.
Matrix RandomMatrix(int64_t rows, int64_t columns, uint64_t seed);

// `count` positions from `first` on: one apart, or with jitter and gaps.
std::vector<double> Positions(int64_t count, bool irregular, double first = 0);

}  // namespace telltale::model
