#include "model/encoder.h"

#include <algorithm>
#include <cmath>

#include "model/layers/elementwise.h"
#include "model/layers/linear.h"

namespace telltale::model {

Encoder::Encoder(const EncoderConfig& config, const Parameters& parameters)
    : config_(config),
      parameters_(parameters),
      tile_attended_(kTileRows, config.value_columns()),
      gradient_sink_(config, /*stand_ins=*/0) {
  for (size_t n = 0; n < config.layers.size(); ++n) {
    attention_.emplace_back(config, config.layers[n],
                            parameters.layers()[n].attention);
  }
}

void Encoder::Forward(Context& context, const ConstMatrixView& x,
                      std::span<const double> positions,
                      EncoderActivations& activations) const {
  EncoderActivations& a = activations;
  const int64_t n = x.rows;
  const int64_t past = config_.stem_taps - 1;
  a.positions.assign(positions.begin(), positions.end());
  ComputeAngles(config_, a.positions, a.angles);
  a.padded.Resize(past + n, config_.input_width);
  std::fill_n(a.padded.data(), past * config_.input_width, 0.0F);
  Copy(x, a.padded.view().Rows(past, n));
  a.taps.Resize(n, config_.tap_columns());
  GatherTaps(a.padded.view(), config_.stem_taps, a.taps.view());
  a.stem.Resize(n, config_.width);
  StemForward(context, parameters_.stem(), a.taps.view(), a.stem_activations,
              a.stem.view());

  a.layers.resize(attention_.size());
  a.last.Resize(n, config_.width);
  for (size_t i = 0; i < attention_.size(); ++i) {
    EncoderActivations::Layer& layer = a.layers[i];
    layer.input.Resize(n, config_.width);
    layer.middle.Resize(n, config_.width);
    if (i == 0) Copy(a.stem.view(), layer.input.view());
    Matrix& output = i + 1 < a.layers.size() ? a.layers[i + 1].input : a.last;
    output.Resize(n, config_.width);
    attention_[i].Forward(
        context, {layer.input.view(), a.stem.view(), a.angles, a.positions},
        layer.attention, layer.middle.view());
    FeedForwardForward(context, parameters_.layers()[i].feed_forward,
                       layer.middle.view(), layer.feed_forward, output.view());
  }
  NormForward(context, parameters_.norm(), a.last.view(), a.norm);
  a.forecast.Resize(n, config_.output_width());
  LinearForward(context, parameters_.forecast(), a.norm.output.view(),
                a.forecast.view());
}

void Encoder::Backward(Context& context, EncoderActivations& activations,
                       const ConstMatrixView& dforecast, Parameters& gradients,
                       const MatrixView& dx) const {
  EncoderActivations& a = activations;
  const int64_t n = dforecast.rows;
  a.dx.Resize(n, config_.width);
  a.dmiddle.Resize(n, config_.width);
  a.dstem.Resize(n, config_.width);
  a.dtaps.Resize(n, a.taps.columns());
  std::ranges::fill(a.dstem.floats(), 0.0F);

  LinearGradients(context, a.norm.output.view(), dforecast,
                  gradients.forecast());
  LinearBackward(context, parameters_.forecast(), dforecast, a.dmiddle.view());
  NormBackward(context, parameters_.norm(), a.last.view(), a.norm,
               a.dmiddle.view(), gradients.norm(), a.dx.view());
  for (size_t i = attention_.size(); i-- > 0;) {
    EncoderActivations::Layer& layer = a.layers[i];
    const LayerParameters& layer_gradients = gradients.layers()[i];
    FeedForwardBackward(context, parameters_.layers()[i].feed_forward,
                        layer.middle.view(), layer.feed_forward, a.dx.view(),
                        layer_gradients.feed_forward, a.dmiddle.view());
    attention_[i].Backward(
        context, {layer.input.view(), a.stem.view(), a.angles, a.positions},
        layer.attention, a.dmiddle.view(), layer_gradients.attention,
        a.dx.view(), a.dstem.view());
  }
  Add(a.dx.view(), a.dstem.view());  // the first layer's input is the stem
  StemBackward(context, parameters_.stem(), a.taps.view(), a.stem_activations,
               a.dstem.view(), gradients.stem(), a.dtaps.view());

  // Instant t is the last tap of row t, the one before of row t + 1, ...
  const int64_t width = config_.input_width;
  const int64_t taps = config_.stem_taps;
  for (int64_t t = 0; t < n; ++t) {
    float* row = dx.Row(t);
    std::fill_n(row, width, 0.0F);
    for (int64_t later = 0; later < taps && t + later < n; ++later) {
      const float* from = a.dtaps.Row(t + later) + (taps - 1 - later) * width;
      for (int64_t i = 0; i < width; ++i) row[i] += from[i];
    }
  }
}

void Encoder::Advance(Context& context, std::span<StreamRows> streams) {
  GatherRows(streams);
  for (int64_t tile = 0; tile < tile_count(); ++tile) {
    StemForward(context, parameters_.stem(), Tile(taps_, tile), stem_scratch_,
                Tile(stem_, tile));
  }
  h_.floats() = stem_.floats();
  for (size_t n = 0; n < attention_.size(); ++n) {
    AdvanceLayer(context, n, streams);
  }
  for (int64_t tile = 0; tile < tile_count(); ++tile) {
    NormForward(context, parameters_.norm(), Tile(h_, tile), norm_scratch_);
    LinearForward(context, parameters_.forecast(), norm_scratch_.output.view(),
                  Tile(forecast_, tile));
  }
  Commit(streams);
}

void Encoder::GatherRows(std::span<StreamRows> streams) {
  int64_t rows = 0;
  for (const StreamRows& stream : streams) rows += stream.x.rows;
  const int64_t padded_rows = (rows + kTileRows - 1) / kTileRows * kTileRows;
  const int past = config_.stem_taps - 1;
  taps_.Resize(padded_rows, config_.tap_columns());
  for (Matrix* matrix : {&stem_, &h_, &middle_}) {
    matrix->Resize(padded_rows, config_.width);
  }
  query_.Resize(padded_rows, config_.query_columns());
  key_.Resize(padded_rows, config_.query_columns());
  value_.Resize(padded_rows, config_.value_columns());
  attended_.Resize(padded_rows, config_.value_columns());
  forecast_.Resize(padded_rows, config_.output_width());
  positions_.assign(static_cast<size_t>(padded_rows), 0.0);

  // Rows that only pad are zero, so that they stay finite.
  std::fill(taps_.Row(rows), taps_.data() + taps_.floats().size(), 0.0F);
  std::fill(attended_.Row(rows), attended_.data() + attended_.floats().size(),
            0.0F);
  int64_t row = 0;
  for (StreamRows& stream : streams) {
    const int64_t n = stream.x.rows;
    Matrix& recent = stream.cache->recent_inputs();
    padded_.Resize(past + n, config_.input_width);
    Copy(recent.view(), padded_.view().Rows(0, past));
    Copy(stream.x, padded_.view().Rows(past, n));
    GatherTaps(padded_.view(), config_.stem_taps, taps_.view().Rows(row, n));
    Copy(padded_.view().Rows(n, past), recent.view());
    if (config_.KeepsInputs()) stream.cache->RememberInputs(stream.x);
    std::ranges::copy(stream.positions, positions_.begin() + row);
    row += n;
  }
  angles_.resize(static_cast<size_t>(tile_count()));
  for (int64_t tile = 0; tile < tile_count(); ++tile) {
    ComputeAngles(
        config_,
        std::span(positions_)
            .subspan(static_cast<size_t>(tile * kTileRows), kTileRows),
        angles_[static_cast<size_t>(tile)]);
  }
}

void Encoder::AdvanceLayer(Context& context, size_t n,
                           std::span<StreamRows> streams) {
  const MultiHeadAttention& attention = attention_[n];
  for (int64_t tile = 0; tile < tile_count(); ++tile) {
    // Positions bear on the angles here, and on the scores when attending.
    attention.Project(context,
                      {Tile(h_, tile),
                       Tile(stem_, tile),
                       angles_[static_cast<size_t>(tile)],
                       {}},
                      attention_scratch_);
    Copy(attention_scratch_.query.view(), Tile(query_, tile));
    Copy(attention_scratch_.key.view(), Tile(key_, tile));
    Copy(attention_scratch_.value.view(), Tile(value_, tile));
  }
  int64_t row = 0;
  for (StreamRows& stream : streams) {
    AttendStream(n, stream, row);
    row += stream.x.rows;
  }
  for (int64_t tile = 0; tile < tile_count(); ++tile) {
    attention.Project(context, Tile(h_, tile), Tile(attended_, tile),
                      Tile(middle_, tile));
    FeedForwardForward(context, parameters_.layers()[n].feed_forward,
                       Tile(middle_, tile), feed_forward_scratch_,
                       Tile(h_, tile));
  }
}

namespace {

// The weights of query row `q` on the instants that any head may see.
AttentionRow ExtractRow(const EncoderConfig& config, const LayerConfig& layer,
                        const KvLayer& cache, const Matrix& weights, int64_t q,
                        int64_t query_index, int64_t begin) {
  AttentionRow row;
  row.query_index = query_index;
  row.first_key_index = std::max(begin, query_index - layer.reach + 1);
  const int64_t keys = query_index - row.first_key_index + 1;
  row.weights.Resize(config.heads, keys);
  row.nothing.resize(static_cast<size_t>(config.heads));
  for (int64_t head = 0; head < config.heads; ++head) {
    const float* from = weights.Row(head * kTileRows + q);
    for (int64_t k = 0; k < keys; ++k) {
      row.weights.Row(head)[k] = from[cache.Slot(row.first_key_index + k)];
    }
    row.nothing[static_cast<size_t>(head)] =
        config.null_logit ? from[cache.slot_count()] : 0.0F;
  }
  return row;
}

}  // namespace

void Encoder::AttendStream(size_t n, StreamRows& stream, int64_t row) {
  KvCache& cache = *stream.cache;
  KvLayer& layer = cache.layers()[n];
  const int64_t count = stream.x.rows;
  const int64_t first = cache.end_index();
  QueryPlace places[kTileRows];
  for (int64_t i = 0; i < count; ++i) {
    places[i] = {first + i, positions_[static_cast<size_t>(row + i)]};
    layer.Append(first + i, places[i].position, key_.Row(row + i),
                 value_.Row(row + i));
    if (n == 0) cache.RememberStem(first + i, stem_.Row(row + i));
    if (n + 1 == attention_.size()) {
      cache.Remember(first + i, h_.Row(row + i), query_.Row(row + i));
    }
  }
  const int64_t end = first + count;
  const int64_t begin = std::max(cache.first_index(), end - layer.slot_count());
  attention_[n].Attend(query_.view().Rows(row, count),
                       std::span(places).first(static_cast<size_t>(count)),
                       layer.Runs(begin, end), layer, weights_,
                       attended_.view().Rows(row, count));
  if (stream.attention == nullptr) return;
  for (int64_t i = 0; i < count; ++i) {
    (*stream.attention)[n].push_back(ExtractRow(
        config_, config_.layers[n], layer, weights_, i, first + i, begin));
  }
}

void Encoder::Commit(std::span<StreamRows> streams) {
  int64_t row = 0;
  for (StreamRows& stream : streams) {
    const int64_t count = stream.x.rows;
    Copy(forecast_.view().Rows(row, count), stream.forecast);
    stream.cache->set_end_index(stream.cache->end_index() + count);
    row += count;
  }
}

int64_t Encoder::Explain(Context& context, KvCache& cache, int64_t query_index,
                         int column, std::vector<float>& readout) {
  const size_t n = attention_.size() - 1;
  KvLayer& layer = cache.layers()[n];
  AttendAgain(cache, query_index);
  DifferentiateForecast(context, cache.LastInput(query_index), column);

  const int64_t begin =
      std::max(cache.Begin(layer), query_index - config_.layers[n].reach + 1);
  readout.assign(static_cast<size_t>(query_index - begin + 1), 0.0F);
  for (int head = 0; head < config_.heads; ++head) {
    AlongValues(layer, head);
    const float* weights = weights_.Row(int64_t{head} * kTileRows);
    for (int64_t key = begin; key <= query_index; ++key) {
      const int64_t slot = layer.Slot(key);
      readout[static_cast<size_t>(key - begin)] +=
          std::abs(weights[slot] * along_[static_cast<size_t>(slot)]);
    }
  }
  return begin;
}

void Encoder::AlongValues(const KvLayer& layer, int head) {
  along_.assign(static_cast<size_t>(layer.slot_count()), 0.0F);
  for (int64_t i = 0; i < config_.value_width; ++i) {
    const int64_t column = int64_t{head} * config_.value_width + i;
    const float gradient = tile_attended_.data()[column];
    const float* values = layer.values.Row(column);
    for (size_t slot = 0; slot < along_.size(); ++slot) {
      along_[slot] += gradient * values[slot];
    }
  }
}

void Encoder::AttendAgain(KvCache& cache, int64_t query_index) {
  KvLayer& layer = cache.layers().back();
  const QueryPlace place = {
      query_index,
      layer.positions[static_cast<size_t>(layer.Slot(query_index))]};
  attention_.back().Attend(
      View(cache.LastQuery(query_index), 1, config_.query_columns()),
      {&place, 1}, layer.Runs(cache.Begin(layer), cache.end_index()), layer,
      weights_, tile_attended_.view());
}

void Encoder::DifferentiateForecast(Context& context, const float* input_row,
                                    int column) {
  const size_t n = attention_.size() - 1;
  const LayerParameters& parameters = parameters_.layers()[n];
  const LayerParameters& sink = gradient_sink_.layers()[n];
  Matrix& input = tile_a_;
  Matrix& middle = tile_b_;
  Matrix& last = tile_c_;
  for (Matrix* matrix : {&input, &middle, &last, &tile_d_}) {
    matrix->Resize(kTileRows, config_.width);
    std::ranges::fill(matrix->floats(), 0.0F);
  }
  std::copy_n(input_row, config_.width, input.data());
  attention_[n].Project(context, input.view(), tile_attended_.view(),
                        middle.view());
  FeedForwardForward(context, parameters.feed_forward, middle.view(),
                     feed_forward_scratch_, last.view());
  NormForward(context, parameters_.norm(), last.view(), norm_scratch_);

  Matrix& dnormed = input;
  Matrix& dlast = tile_d_;
  std::ranges::fill(dnormed.floats(), 0.0F);
  const LinearParameters& head = parameters_.forecast();
  for (int64_t i = 0; i < config_.width; ++i) {
    dnormed.data()[i] = head.weight[i * head.outputs + column];
  }
  NormBackward(context, parameters_.norm(), last.view(), norm_scratch_,
               dnormed.view(), gradient_sink_.norm(), dlast.view());
  Matrix& dmiddle = dnormed;
  FeedForwardBackward(context, parameters.feed_forward, middle.view(),
                      feed_forward_scratch_, dlast.view(), sink.feed_forward,
                      dmiddle.view());
  LinearBackward(context, parameters.attention.output, dmiddle.view(),
                 tile_attended_.view());
}

}  // namespace telltale::model
