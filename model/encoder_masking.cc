// What a remembered query would have forecast without some of its keys.

#include <algorithm>
#include <array>
#include <cassert>

#include "model/encoder.h"
#include "model/layers/elementwise.h"
#include "model/layers/linear.h"

namespace telltale::model {

void Encoder::ForecastWithout(Context& context, KvCache& cache,
                              int64_t query_index,
                              std::span<const std::vector<int64_t>> hidden,
                              const MatrixView& forecast) {
  assert(hidden.size() <= kTileRows);
  const KvLayer& last = cache.layers().back();
  const double position =
      last.positions[static_cast<size_t>(last.Slot(query_index))];
  const std::vector<double> positions(kTileRows, position);
  RotaryAngles angles;
  ComputeAngles(config_, positions, angles);
  std::array<QueryPlace, kTileRows> places;
  for (size_t i = 0; i < hidden.size(); ++i) {
    places[i] = {query_index, position, hidden[i]};
  }

  // Every row of the tile is the same query, each with other keys hidden.
  Matrix& stem = tile_a_;
  Matrix& h = tile_b_;
  Matrix& middle = tile_c_;
  for (Matrix* matrix : {&stem, &h, &middle}) {
    matrix->Resize(kTileRows, config_.width);
  }
  for (int64_t row = 0; row < kTileRows; ++row) {
    std::copy_n(cache.Stem(query_index), config_.width, stem.Row(row));
  }
  h.floats() = stem.floats();
  for (size_t n = 0; n < attention_.size(); ++n) {
    const MultiHeadAttention& attention = attention_[n];
    KvLayer& layer = cache.layers()[n];
    attention.Project(context, {h.view(), stem.view(), angles, {}},
                      attention_scratch_);
    attention.Attend(attention_scratch_.query.view(),
                     std::span(places).first(hidden.size()),
                     layer.Runs(cache.Begin(layer), cache.end_index()), layer,
                     weights_, tile_attended_.view());
    attention.Project(context, h.view(), tile_attended_.view(), middle.view());
    FeedForwardForward(context, parameters_.layers()[n].feed_forward,
                       middle.view(), feed_forward_scratch_, h.view());
  }
  NormForward(context, parameters_.norm(), h.view(), norm_scratch_);
  forecast_.Resize(kTileRows, config_.output_width());
  LinearForward(context, parameters_.forecast(), norm_scratch_.output.view(),
                forecast_.view());
  Copy(forecast_.view().Rows(0, static_cast<int64_t>(hidden.size())), forecast);
}

}  // namespace telltale::model
