#pragma once

#include <span>
#include <vector>

#include "model/encoder_config.h"
#include "model/matrix.h"

namespace telltale::model {

// The turn of each position by each frequency, [N, query_width / 2].
struct RotaryAngles {
  Matrix cosine, sine;
};

// By how much a step of one cadence turns each pair, [query_width / 2].
std::vector<double> RotaryFrequencies(const EncoderConfig& config);

// Angles for positions in units of the cadence, reduced modulo a turn in
// double, so that they hold at any distance from the start of time.
void ComputeAngles(std::span<const double> frequencies,
                   std::span<const double> positions, RotaryAngles& angles);

// Rotary positions (Su et al. 2021): turns each head's vector x[t], as pairs
// (i, i + query_width / 2), by its position's angles, in place; a product of
// two turned vectors depends on the distance of their positions only.
// `direction` is 1; -1 turns back, which is what gradients need.
// x is [N, heads * query_width].
void Rotate(const EncoderConfig& config, const RotaryAngles& angles,
            float direction, const MatrixView& x);

}  // namespace telltale::model
