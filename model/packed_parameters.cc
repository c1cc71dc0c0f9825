#include "model/packed_parameters.h"

#include <algorithm>

namespace telltale::model {
namespace {

PackedParameters::Layer PackLayer(Context& context, const LayerConfig& config,
                                  const LayerParameters& layer,
                                  Precision precision) {
  const AttentionParameters& attention = layer.attention;
  std::vector<LinearParameters> from_normed = {attention.query};
  std::vector<LinearParameters> keys = {attention.key, attention.value};
  const bool stem = config.key_source == KeySource::kStem;
  if (!stem) from_normed.insert(from_normed.end(), keys.begin(), keys.end());
  const auto pack = [&](const LinearParameters& linear,
                        const PackedLinearOptions& options) {
    return PackedLinear(context, {&linear, 1}, precision, options);
  };
  PackedParameters::Layer packed = {
      .from_normed = PackedLinear(context, from_normed, precision),
      .from_stem = std::nullopt,
      .attended = pack(attention.output, {.accumulate = true}),
      .hidden = pack(layer.feed_forward.hidden, {.gelu = true}),
      .output = pack(layer.feed_forward.output, {.accumulate = true})};
  if (stem) packed.from_stem.emplace(context, keys, precision);
  return packed;
}

}  // namespace

PackedParameters::PackedParameters(Context& context,
                                   const EncoderConfig& config,
                                   const Parameters& parameters,
                                   Precision precision)
    : stem_linear(context, {&parameters.stem().linear, 1}, precision),
      forecast(context, {&parameters.forecast(), 1}, precision) {
  const StemParameters& stem = parameters.stem();
  if (stem.hidden.outputs > 0) {
    stem_hidden.emplace(context, std::span(&stem.hidden, 1), precision,
                        PackedLinearOptions{.gelu = true});
    stem_output.emplace(context, std::span(&stem.output, 1), precision,
                        PackedLinearOptions{.accumulate = true});
  }
  for (size_t n = 0; n < config.layers.size(); ++n) {
    layers.push_back(PackLayer(context, config.layers[n],
                               parameters.layers()[n], precision));
  }

  const auto heed = [&](const PackedLinear& linear) {
    row_multiple_ = std::max(row_multiple_, linear.row_multiple());
  };
  heed(stem_linear);
  heed(forecast);
  if (stem_hidden.has_value()) heed(*stem_hidden);
  if (stem_output.has_value()) heed(*stem_output);
  for (const Layer& layer : layers) {
    heed(layer.from_normed);
    if (layer.from_stem.has_value()) heed(*layer.from_stem);
    heed(layer.attended);
    heed(layer.hidden);
    heed(layer.output);
  }
}

int64_t PackedParameters::RoundUp(int64_t rows) const {
  return (rows + row_multiple_ - 1) / row_multiple_ * row_multiple_;
}

}  // namespace telltale::model
