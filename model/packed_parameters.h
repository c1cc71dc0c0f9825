#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/encoder_config.h"
#include "model/ops/context.h"
#include "model/ops/packed_linear.h"
#include "model/parameters.h"

namespace telltale::model {

// The linear layers of an encoder, packed for forecasting alone.
struct PackedParameters {
  struct Layer {
    // Queries; behind them keys and values, if they come from the same rows.
    PackedLinear from_normed;
    // Keys and values, if they come from the stem.
    std::optional<PackedLinear> from_stem;
    PackedLinear attended;  // W_O, added to the residual stream
    PackedLinear hidden;    // of the feed-forward, with its GELU
    PackedLinear output;    // of the feed-forward, added to the residual stream
  };

  // Copies the parameters. REQUIRES: IsSupported(precision).
  PackedParameters(Context& context, const EncoderConfig& config,
                   const Parameters& parameters, Precision precision);

  // `rows` up to what all layers accept.
  int64_t RoundUp(int64_t rows) const;

  PackedLinear stem_linear;
  // Where the stem is not linear alone; its output is added.
  std::optional<PackedLinear> stem_hidden, stem_output;
  std::vector<Layer> layers;
  PackedLinear forecast;

 private:
  int64_t row_multiple_ = 1;
};

}  // namespace telltale::model
