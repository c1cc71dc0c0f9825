#include "model/stream_encoder.h"

#include <algorithm>
#include <cmath>

#include "model/layers/elementwise.h"
#include "model/layers/linear.h"

namespace telltale::model {

StreamEncoder::StreamEncoder(Context& context, const EncoderConfig& config,
                             const Parameters& parameters, Precision precision)
    : context_(context),
      config_(config),
      parameters_(parameters),
      packed_(context, config, parameters, precision),
      frequencies_(RotaryFrequencies(config)),
      taps_operand_(precision),
      stem_operand_(precision),
      attended_operand_(precision),
      normed_(precision),
      active_(precision),
      tile_attended_(kTileRows, config.value_columns()),
      gradient_sink_(config, /*stand_ins=*/0) {
  for (size_t n = 0; n < config.layers.size(); ++n) {
    attention_.emplace_back(config, config.layers[n],
                            parameters.layers()[n].attention);
  }
}

void StreamEncoder::Advance(std::span<StreamRows> streams) {
  GatherRows(streams);
  EvaluateStem();
  for (size_t n = 0; n < attention_.size(); ++n) {
    Project(n);
    int64_t row = 0;
    for (StreamRows& stream : streams) {
      AttendStream(n, stream, row);
      row += stream.x.rows;
    }
    FinishLayer(n);
  }
  EvaluateHead();
  Commit(streams);
}

void StreamEncoder::ResizeRows(int64_t rows) {
  const int64_t padded = packed_.RoundUp(rows);
  taps_.Resize(padded, config_.tap_columns());
  stem_.Resize(padded, config_.width);
  h_.Resize(padded, config_.width);
  attended_.Resize(padded, config_.value_columns());
  forecast_.Resize(padded, config_.output_width());
  positions_.resize(static_cast<size_t>(padded));

  // Rows that only pad are zero, so that they stay finite.
  for (Matrix* matrix : {&taps_, &stem_, &attended_}) {
    std::fill(matrix->Row(rows), matrix->Row(padded), 0.0F);
  }
  std::fill(positions_.begin() + rows, positions_.end(), 0.0);
}

void StreamEncoder::GatherRows(std::span<StreamRows> streams) {
  int64_t rows = 0;
  for (const StreamRows& stream : streams) rows += stream.x.rows;
  ResizeRows(rows);
  const int past = config_.stem_taps - 1;
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
  if (config_.rotary) ComputeAngles(frequencies_, positions_, angles_);
}

void StreamEncoder::EvaluateStem() {
  taps_operand_.Assign(taps_.view());
  packed_.stem_linear.Run(taps_operand_, stem_.view());
  if (packed_.stem_hidden.has_value()) {
    packed_.stem_hidden->Run(taps_operand_, active_);
    packed_.stem_output->Run(active_, stem_.view());
  }
  Copy(stem_.view(), h_.view());
}

void StreamEncoder::Project(size_t n) {
  PackedParameters::Layer& layer = packed_.layers[n];
  const NormParameters& norm = parameters_.layers()[n].attention.norm;
  normed_.AssignLayerNorm(h_.view(), norm.scale, norm.shift);
  from_normed_.Resize(h_.rows(), layer.from_normed.outputs());
  layer.from_normed.Run(normed_, from_normed_.view());
  const int64_t width = config_.query_columns();
  queries_ = from_normed_.view().Columns(0, width);
  MatrixView others =
      from_normed_.view().Columns(width, layer.from_normed.outputs() - width);
  if (layer.from_stem.has_value()) {
    from_stem_.Resize(stem_.rows(), layer.from_stem->outputs());
    stem_operand_.Assign(stem_.view());
    layer.from_stem->Run(stem_operand_, from_stem_.view());
    others = from_stem_.view();
  }
  keys_ = others.Columns(0, width);
  values_ = others.Columns(width, config_.value_columns());
  if (!config_.rotary) return;
  Rotate(config_, angles_, 1, queries_);
  Rotate(config_, angles_, 1, keys_);
}

void StreamEncoder::FinishLayer(size_t n) {
  PackedParameters::Layer& layer = packed_.layers[n];
  attended_operand_.Assign(attended_.view());
  layer.attended.Run(attended_operand_, h_.view());
  const NormParameters& norm = parameters_.layers()[n].feed_forward.norm;
  normed_.AssignLayerNorm(h_.view(), norm.scale, norm.shift);
  layer.hidden.Run(normed_, active_);
  layer.output.Run(active_, h_.view());
}

void StreamEncoder::EvaluateHead() {
  const NormParameters& norm = parameters_.norm();
  normed_.AssignLayerNorm(h_.view(), norm.scale, norm.shift);
  packed_.forecast.Run(normed_, forecast_.view());
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

void StreamEncoder::AttendStream(size_t n, StreamRows& stream, int64_t row) {
  KvCache& cache = *stream.cache;
  KvLayer& layer = cache.layers()[n];
  const int64_t count = stream.x.rows;
  const int64_t first = cache.end_index();
  QueryPlace places[kTileRows];
  for (int64_t i = 0; i < count; ++i) {
    places[i] = {first + i, positions_[static_cast<size_t>(row + i)]};
    layer.Append(first + i, places[i].position, keys_.Row(row + i),
                 values_.Row(row + i));
    if (n == 0) cache.RememberStem(first + i, stem_.Row(row + i));
    if (n + 1 == attention_.size()) {
      cache.Remember(first + i, h_.Row(row + i), queries_.Row(row + i));
    }
  }
  const int64_t end = first + count;
  const int64_t begin = std::max(cache.first_index(), end - layer.slot_count());
  attention_[n].Attend(queries_.Rows(row, count),
                       std::span(places).first(static_cast<size_t>(count)),
                       layer.Runs(begin, end), layer, weights_,
                       attended_.view().Rows(row, count));
  if (stream.attention == nullptr) return;
  for (int64_t i = 0; i < count; ++i) {
    (*stream.attention)[n].push_back(ExtractRow(
        config_, config_.layers[n], layer, weights_, i, first + i, begin));
  }
}

void StreamEncoder::Commit(std::span<StreamRows> streams) {
  int64_t row = 0;
  for (StreamRows& stream : streams) {
    const int64_t count = stream.x.rows;
    Copy(forecast_.view().Rows(row, count), stream.forecast);
    stream.cache->set_end_index(stream.cache->end_index() + count);
    row += count;
  }
}

int64_t StreamEncoder::Explain(KvCache& cache, int64_t query_index, int column,
                               std::vector<float>& readout) {
  const size_t n = attention_.size() - 1;
  KvLayer& layer = cache.layers()[n];
  AttendAgain(cache, query_index);
  DifferentiateForecast(cache.LastInput(query_index), column);

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

void StreamEncoder::AlongValues(const KvLayer& layer, int head) {
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

void StreamEncoder::AttendAgain(KvCache& cache, int64_t query_index) {
  KvLayer& layer = cache.layers().back();
  const QueryPlace place = {
      query_index,
      layer.positions[static_cast<size_t>(layer.Slot(query_index))]};
  attention_.back().Attend(
      View(cache.LastQuery(query_index), 1, config_.query_columns()),
      {&place, 1}, layer.Runs(cache.Begin(layer), cache.end_index()), layer,
      weights_, tile_attended_.view());
}

void StreamEncoder::DifferentiateForecast(const float* input_row, int column) {
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
  attention_[n].Project(context_, input.view(), tile_attended_.view(),
                        middle.view());
  FeedForwardForward(context_, parameters.feed_forward, middle.view(),
                     feed_forward_scratch_, last.view());
  NormForward(context_, parameters_.norm(), last.view(), norm_scratch_);

  Matrix& dnormed = input;
  Matrix& dlast = tile_d_;
  std::ranges::fill(dnormed.floats(), 0.0F);
  const LinearParameters& head = parameters_.forecast();
  for (int64_t i = 0; i < config_.width; ++i) {
    dnormed.data()[i] = head.weight[i * head.outputs + column];
  }
  NormBackward(context_, parameters_.norm(), last.view(), norm_scratch_,
               dnormed.view(), gradient_sink_.norm(), dlast.view());
  Matrix& dmiddle = dnormed;
  FeedForwardBackward(context_, parameters.feed_forward, middle.view(),
                      feed_forward_scratch_, dlast.view(), sink.feed_forward,
                      dmiddle.view());
  LinearBackward(context_, parameters.attention.output, dmiddle.view(),
                 tile_attended_.view());
}

}  // namespace telltale::model
