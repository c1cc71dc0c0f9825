// What a remembered query would have forecast without some of its keys.

#include <algorithm>
#include <array>
#include <cassert>

#include "model/layers/elementwise.h"
#include "model/stream_encoder.h"

namespace telltale::model {

void StreamEncoder::ForecastWithout(
    KvCache& cache, int64_t query_index,
    std::span<const std::vector<int64_t>> hidden, const MatrixView& forecast) {
  assert(hidden.size() <= kTileRows);
  const KvLayer& last = cache.layers().back();
  const double position =
      last.positions[static_cast<size_t>(last.Slot(query_index))];
  std::array<QueryPlace, kTileRows> places;
  for (size_t i = 0; i < hidden.size(); ++i) {
    places[i] = {query_index, position, hidden[i]};
  }

  // Every row is the same query, each with other keys hidden.
  const auto rows = static_cast<int64_t>(hidden.size());
  ResizeRows(rows);
  std::fill_n(positions_.begin(), rows, position);
  if (config_.rotary) ComputeAngles(frequencies_, positions_, angles_);
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(cache.Stem(query_index), config_.width, stem_.Row(row));
  }
  Copy(stem_.view(), h_.view());
  for (size_t n = 0; n < attention_.size(); ++n) {
    KvLayer& layer = cache.layers()[n];
    Project(n);
    attention_[n].Attend(queries_, std::span(places).first(hidden.size()),
                         layer.Runs(cache.Begin(layer), cache.end_index()),
                         layer, weights_, attended_.view());
    FinishLayer(n);
  }
  EvaluateHead();
  Copy(forecast_.view().Rows(0, rows), forecast);
}

}  // namespace telltale::model
