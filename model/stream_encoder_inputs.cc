// What a remembered query's output owes to the inputs under the stem.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/layers/linear.h"
#include "model/stream_encoder.h"

namespace telltale::model {
namespace {

// The keys that count most are carried on to their inputs, in one tile; a
// happening of one instant is under as many keys as the stem has taps.
constexpr size_t kExplainedKeys = kTileRows;

// The places of the largest values, largest first.
std::vector<size_t> Largest(const std::vector<float>& values, size_t most) {
  std::vector<size_t> places(values.size());
  std::iota(places.begin(), places.end(), size_t{0});
  const size_t count = std::min(most, places.size());
  std::ranges::partial_sort(
      places, places.begin() + static_cast<int64_t>(count),
      [&](size_t a, size_t b) {
        return values[a] != values[b] ? values[a] > values[b] : a < b;
      });
  places.resize(count);
  return places;
}

}  // namespace

int64_t StreamEncoder::ExplainInputs(KvCache& cache, int64_t query_index,
                                     int column, Matrix& parts) {
  std::vector<float> readout;
  const int64_t begin = Explain(cache, query_index, column, readout);
  const std::vector<size_t> places = Largest(readout, kExplainedKeys);
  const int64_t past = config_.stem_taps - 1;
  const int64_t first = std::max(cache.first_index(), begin - past);
  parts.Resize(query_index - first + 1, config_.input_width);
  std::ranges::fill(parts.floats(), 0.0F);

  DifferentiateKeys(cache, begin, places);
  for (size_t row = 0; row < places.size(); ++row) {
    const float* taps = taps_.Row(static_cast<int64_t>(row));
    const float* gradient = tile_taps_.Row(static_cast<int64_t>(row));
    double total = 0;
    for (int64_t k = 0; k < config_.tap_columns(); ++k) {
      total += std::abs(taps[k] * gradient[k]);
    }
    if (!(total > 0)) continue;
    // Shares of the key's own part.
    const double scale = readout[places[row]] / total;
    const int64_t oldest = begin + static_cast<int64_t>(places[row]) - past;
    for (int64_t k = 0; k < config_.tap_columns(); ++k) {
      const int64_t instant = oldest + k / config_.input_width;
      if (instant < first) continue;
      parts.Row(instant - first)[k % config_.input_width] +=
          static_cast<float>(scale * std::abs(taps[k] * gradient[k]));
    }
  }
  return first;
}

// Of the keys at the given places after `begin`: the inputs under their stems
// in taps_, and in tile_taps_ the gradient of what Explain summed up for them.
void StreamEncoder::DifferentiateKeys(KvCache& cache, int64_t begin,
                                      std::span<const size_t> places) {
  const KvLayer& layer = cache.layers().back();
  const int64_t width = config_.value_width;
  taps_.Resize(kTileRows, config_.tap_columns());
  tile_taps_.Resize(kTileRows, config_.tap_columns());
  tile_values_.Resize(kTileRows, config_.value_columns());
  std::ranges::fill(taps_.floats(), 0.0F);
  std::ranges::fill(tile_values_.floats(), 0.0F);
  for (size_t row = 0; row < places.size(); ++row) {
    const int64_t key = begin + static_cast<int64_t>(places[row]);
    for (int64_t tap = 0; tap < config_.stem_taps; ++tap) {
      const int64_t instant = key - (config_.stem_taps - 1) + tap;
      if (instant < cache.first_index()) continue;
      std::copy_n(
          cache.Input(instant), config_.input_width,
          taps_.Row(static_cast<int64_t>(row)) + tap * config_.input_width);
    }
  }
  for (int head = 0; head < config_.heads; ++head) {
    AlongValues(layer, head);
    const float* gradient = tile_attended_.data() + head * width;
    for (size_t row = 0; row < places.size(); ++row) {
      const int64_t slot =
          layer.Slot(begin + static_cast<int64_t>(places[row]));
      const float weight =
          std::copysign(weights_.Row(int64_t{head} * kTileRows)[slot],
                        along_[static_cast<size_t>(slot)]);
      float* dvalue =
          tile_values_.Row(static_cast<int64_t>(row)) + head * width;
      for (int64_t i = 0; i < width; ++i) dvalue[i] = weight * gradient[i];
    }
  }
  Matrix& dstem = tile_a_;
  Matrix& stem = tile_b_;
  dstem.Resize(kTileRows, config_.width);
  stem.Resize(kTileRows, config_.width);
  LinearBackward(context_, parameters_.layers().back().attention.value,
                 tile_values_.view(), dstem.view());
  StemForward(context_, parameters_.stem(), taps_.view(), stem_scratch_,
              stem.view());
  StemBackward(context_, parameters_.stem(), taps_.view(), stem_scratch_,
               dstem.view(), gradient_sink_.stem(), tile_taps_.view());
}

}  // namespace telltale::model
