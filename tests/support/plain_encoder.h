#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/encoder_config.h"
#include "model/parameters.h"
#include "tests/support/plain_math.h"

namespace telltale::model {

// The whole encoder as loops over doubles, written from its definition and
// sharing no code with it: instants, heads and keys one by one, parameters
// found by their names.

// Parameters by name; vectors are [1, size].
using PlainTensors = std::map<std::string, PlainMatrix>;

PlainTensors ToPlain(const Parameters& parameters);

struct PlainLayer {
  PlainMatrix query, key;  // [N, H * query_width], turned by position
  PlainMatrix value;       // [N, H * value_width]
  // Per head [N, N + 1]; the last column is the weight on nothing.
  std::vector<PlainMatrix> weights;
  PlainMatrix attended;  // [N, H * value_width]
  PlainMatrix output;    // [N, D], after the feed-forward
};

struct PlainActivations {
  PlainMatrix stem;  // [N, D]
  std::vector<PlainLayer> layers;
  PlainMatrix encoded;   // [N, D]
  PlainMatrix forecast;  // [N, horizons * T]
};

// The parts, each from the tensors that its prefix names.
PlainMatrix PlainNorm(const PlainTensors& tensors, const std::string& prefix,
                      const PlainMatrix& x);
PlainMatrix PlainStem(const EncoderConfig& config, const PlainTensors& tensors,
                      const PlainMatrix& x);
PlainMatrix PlainFeedForward(const PlainTensors& tensors,
                             const std::string& prefix, const PlainMatrix& x);
// In place: x is [N, heads * query_width].
void PlainRotate(const EncoderConfig& config,
                 const std::vector<double>& positions, PlainMatrix& x);
// The score that stands before q·k is added: minus infinity if not visible.
double PlainScoreBias(const EncoderConfig& config, const LayerConfig& layer,
                      const PlainMatrix& distance_bias, int head, int64_t lag,
                      double distance);

// Changes the weights of a layer, one matrix a head, before they are used.
using AdjustWeights =
    std::function<void(size_t layer, std::vector<PlainMatrix>& weights)>;

// What all layers of an encoder share.
struct PlainSeries {
  const PlainMatrix& stem;
  const std::vector<double>& positions;
  AdjustWeights adjust = nullptr;
};

// x[N, D] plus attention; fills everything in `activations` but output.
PlainMatrix PlainAttention(const EncoderConfig& config, size_t layer,
                           const PlainTensors& tensors, const PlainMatrix& x,
                           const PlainSeries& series, PlainLayer& activations);

PlainActivations PlainForward(const EncoderConfig& config,
                              const PlainTensors& tensors, const PlainMatrix& x,
                              const std::vector<double>& positions,
                              const AdjustWeights& adjust = nullptr);

}  // namespace telltale::model
