#include "model/layers/multi_head_attention.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/layers/elementwise.h"
#include "model/layers/linear.h"
#include "model/ops/matmul.h"
#include "model/ops/softmax.h"

namespace telltale::model {
namespace {

// Queries evaluated together: enough rows to fill a product, few enough that
// little of the masked corner is computed.
constexpr int64_t kBlockQueries = 64;

int64_t RoundUpToKeyBlock(int64_t keys) {
  return (keys + kKeyBlock - 1) / kKeyBlock * kKeyBlock;
}

// [N, columns] to [columns, N], a key a column, zeros up to a whole key block.
void PutInColumns(const Matrix& rows, Matrix& columns) {
  columns.Resize(rows.columns(), KeyStride(rows.rows()));
  for (int64_t block = 0; block < rows.rows(); block += kKeyBlock) {
    const int64_t end = std::min(block + kKeyBlock, rows.rows());
    for (int64_t i = 0; i < rows.columns(); ++i) {
      float* to = columns.Row(i);
      for (int64_t n = block; n < end; ++n) to[n] = rows.Row(n)[i];
      std::fill(to + end, to + block + kKeyBlock, 0.0F);
    }
  }
}

// The keys that a block may see.
KeyRun Run(std::span<const double> positions,
           const AttentionActivations::Block& block) {
  const std::span<const double> of_keys =
      positions.subspan(static_cast<size_t>(block.key_begin),
                        static_cast<size_t>(block.key_end - block.key_begin));
  return {.first_index = block.key_begin,
          .count = block.key_end - block.key_begin,
          .positions = of_keys.data(),
          .regular = ScoreMask::IsRegular(of_keys)};
}

// Rows of scores, one matrix a head.
MatrixView Rows(Matrix& weights, int64_t heads) {
  const int64_t rows = weights.rows() / heads;
  return {.data = weights.data(),
          .rows = rows,
          .columns = weights.columns(),
          .row_stride = weights.columns(),
          .batch = heads,
          .batch_stride = rows * weights.columns()};
}

// The weights of a block as one [queries, keys] matrix a head, without the
// null column.
MatrixView KeyWeights(Matrix& weights, int64_t heads, int64_t queries,
                      int64_t keys) {
  return {.data = weights.data(),
          .rows = queries,
          .columns = keys,
          .row_stride = weights.columns(),
          .batch = heads,
          .batch_stride = queries * weights.columns()};
}

ConstMatrixView KeyWeights(const Matrix& weights, int64_t heads,
                           int64_t queries, int64_t keys) {
  return KeyWeights(const_cast<Matrix&>(weights), heads, queries, keys);
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const EncoderConfig& config,
                                       const LayerConfig& layer,
                                       const AttentionParameters& parameters)
    : config_(config),
      layer_(layer),
      parameters_(parameters),
      mask_(config, layer, parameters) {}

float MultiHeadAttention::scale() const {
  return 1 / std::sqrt(static_cast<float>(config_.query_width));
}

void MultiHeadAttention::Project(Context& context, const AttentionInput& input,
                                 AttentionActivations& activations) const {
  const ConstMatrixView& x = input.x;
  NormForward(context, parameters_.norm, x, activations.norm);
  const ConstMatrixView normed = activations.norm.output.view();
  const ConstMatrixView source =
      layer_.key_source == KeySource::kStem ? input.stem : normed;
  activations.query.Resize(x.rows, config_.query_columns());
  activations.key.Resize(x.rows, config_.query_columns());
  activations.value.Resize(x.rows, config_.value_columns());
  LinearForward(context, parameters_.query, normed, activations.query.view());
  LinearForward(context, parameters_.key, source, activations.key.view());
  LinearForward(context, parameters_.value, source, activations.value.view());
  if (!config_.rotary) return;
  Rotate(config_, input.angles, 1, activations.query.view());
  Rotate(config_, input.angles, 1, activations.key.view());
}

void MultiHeadAttention::Project(Context& context, const ConstMatrixView& x,
                                 const ConstMatrixView& attended,
                                 const MatrixView& y) const {
  Copy(x, y);
  LinearForward(context, parameters_.output, attended, y, /*accumulate=*/true);
}

void MultiHeadAttention::Forward(Context& context, const AttentionInput& input,
                                 AttentionActivations& activations,
                                 const MatrixView& y) const {
  const ConstMatrixView& x = input.x;
  Project(context, input, activations);
  PutInColumns(activations.key, activations.key_columns);
  PutInColumns(activations.value, activations.value_columns);
  activations.attended.Resize(x.rows, config_.value_columns());
  activations.blocks.resize(
      static_cast<size_t>((x.rows + kBlockQueries - 1) / kBlockQueries));
  int64_t begin = 0;
  for (AttentionActivations::Block& block : activations.blocks) {
    block.query_begin = begin;
    block.query_end = std::min(begin + kBlockQueries, x.rows);
    block.key_begin = config_.causal
                          ? std::max<int64_t>(0, begin - layer_.reach + 1) /
                                kKeyBlock * kKeyBlock
                          : 0;
    block.key_end = config_.causal ? block.query_end : x.rows;
    block.columns = RoundUpToKeyBlock(block.key_end - block.key_begin);
    begin = block.query_end;
    ForwardBlock(input.positions, block, activations);
  }
  Project(context, x, activations.attended.view(), y);
}

void MultiHeadAttention::ForwardBlock(std::span<const double> positions,
                                      AttentionActivations::Block& block,
                                      AttentionActivations& activations) const {
  const int64_t queries = block.query_end - block.query_begin;
  std::array<QueryPlace, kBlockQueries> places;
  for (int64_t q = 0; q < queries; ++q) {
    const int64_t index = block.query_begin + q;
    places[static_cast<size_t>(q)] = {index,
                                      positions[static_cast<size_t>(index)]};
  }
  const Matrix& keys = activations.key_columns;
  const Matrix& values = activations.value_columns;
  const KeyRun run = Run(positions, block);
  block.weights.Resize(config_.heads * queries,
                       ScoreMask::Columns(block.columns));
  Attend(activations.query.view().Rows(block.query_begin, queries),
         std::span(places).first(static_cast<size_t>(queries)), {&run, 1},
         {.keys = keys.data() + block.key_begin,
          .values = values.data() + block.key_begin,
          .stride = keys.columns(),
          .columns = block.columns,
          .query_width = config_.query_width,
          .value_width = config_.value_width},
         Rows(block.weights, config_.heads),
         activations.attended.view().Rows(block.query_begin, queries));
}

void MultiHeadAttention::Backward(Context& context, const AttentionInput& input,
                                  AttentionActivations& activations,
                                  const ConstMatrixView& dy,
                                  const AttentionParameters& gradients,
                                  const MatrixView& dx,
                                  const MatrixView& dstem) const {
  const ConstMatrixView& x = input.x;
  AttentionActivations& a = activations;
  a.dattended.Resize(x.rows, config_.value_columns());
  a.dquery.Resize(x.rows, config_.query_columns());
  a.dkey.Resize(x.rows, config_.query_columns());
  a.dvalue.Resize(x.rows, config_.value_columns());
  a.dnormed.Resize(x.rows, x.columns);
  LinearGradients(context, a.attended.view(), dy, gradients.output);
  LinearBackward(context, parameters_.output, dy, a.dattended.view());

  // Keys and values are seen by several blocks, which add to their gradients.
  std::ranges::fill(a.dkey.floats(), 0.0F);
  std::ranges::fill(a.dvalue.floats(), 0.0F);
  for (const AttentionActivations::Block& block : a.blocks) {
    BackwardBlock(context, input.positions, block, a, gradients);
  }
  if (config_.rotary) {
    Rotate(config_, input.angles, -1, a.dquery.view());
    Rotate(config_, input.angles, -1, a.dkey.view());
  }

  const bool from_stem = layer_.key_source == KeySource::kStem;
  const ConstMatrixView normed = a.norm.output.view();
  const ConstMatrixView source = from_stem ? input.stem : normed;
  LinearGradients(context, normed, a.dquery.view(), gradients.query);
  LinearGradients(context, source, a.dkey.view(), gradients.key);
  LinearGradients(context, source, a.dvalue.view(), gradients.value);
  LinearBackward(context, parameters_.query, a.dquery.view(), a.dnormed.view());
  const MatrixView dsource = from_stem ? dstem : a.dnormed.view();
  LinearBackward(context, parameters_.key, a.dkey.view(), dsource, true);
  LinearBackward(context, parameters_.value, a.dvalue.view(), dsource, true);
  NormBackward(context, parameters_.norm, x, a.norm, a.dnormed.view(),
               gradients.norm, dx);
  Add(dy, dx);  // the residual
}

void MultiHeadAttention::BackwardBlock(
    Context& context, std::span<const double> positions,
    const AttentionActivations::Block& block, AttentionActivations& activations,
    const AttentionParameters& gradients) const {
  AttentionActivations& a = activations;
  const int heads = config_.heads;
  const int64_t queries = block.query_end - block.query_begin;
  const int64_t keys = block.key_end - block.key_begin;
  const int64_t columns = block.weights.columns();
  const auto query_rows = [&](Matrix& m) {
    return m.view().Rows(block.query_begin, queries).Heads(heads);
  };
  const auto key_rows = [&](Matrix& m) {
    return m.view().Rows(block.key_begin, keys).Heads(heads);
  };
  const ConstMatrixView weights =
      KeyWeights(block.weights, heads, queries, keys);

  // attended = weights·value; the null column has value zero, hence no
  // gradient of its own, and masked columns have weight zero.
  MatMul(context, weights.Transposed(), query_rows(a.dattended),
         key_rows(a.dvalue), {.accumulate = true});
  a.dweights.Resize(heads * queries, columns);
  std::ranges::fill(a.dweights.floats(), 0.0F);
  const MatrixView dscores = KeyWeights(a.dweights, heads, queries, keys);
  MatMul(context, query_rows(a.dattended), key_rows(a.value).Transposed(),
         dscores);
  SoftmaxBackward(context, block.weights.view(), a.dweights.view(),
                  a.dweights.view());

  const KeyRun run = Run(positions, block);
  for (int64_t q = 0; q < queries; ++q) {
    const int64_t index = block.query_begin + q;
    mask_.AddGradients({index, positions[static_cast<size_t>(index)]},
                       {&run, 1}, block.columns, a.dweights.Row(q),
                       queries * columns, gradients);
  }
  // scores = scale * query·key'.
  MatMul(context, dscores, key_rows(a.key), query_rows(a.dquery),
         {.scale = scale()});
  MatMul(context, ConstMatrixView(dscores).Transposed(), query_rows(a.query),
         key_rows(a.dkey), {.scale = scale(), .accumulate = true});
}

void MultiHeadAttention::Attend(const ConstMatrixView& queries,
                                std::span<const QueryPlace> places,
                                std::span<const KeyRun> runs,
                                const KvLayer& cache, Matrix& weights,
                                const MatrixView& attended) const {
  const int64_t slots = cache.slot_count();
  weights.Resize(int64_t{config_.heads} * kTileRows, ScoreMask::Columns(slots));
  Attend(queries, places, runs,
         {.keys = cache.keys.data(),
          .values = cache.values.data(),
          .stride = cache.keys.columns(),
          .columns = slots,
          .query_width = config_.query_width,
          .value_width = config_.value_width},
         Rows(weights, config_.heads), attended);
}

void MultiHeadAttention::Attend(const ConstMatrixView& queries,
                                std::span<const QueryPlace> places,
                                std::span<const KeyRun> runs, HeadKeys keys,
                                const MatrixView& weights,
                                const MatrixView& attended) const {
  for (size_t q = 0; q < places.size(); ++q) {
    mask_.Fill(places[q], runs, keys.columns,
               weights.Row(static_cast<int64_t>(q)), weights.batch_stride);
  }
  // A head's keys stay close by for all queries.
  for (int head = 0; head < config_.heads; ++head) {
    for (size_t first = 0; first < places.size(); first += kQueriesTogether) {
      std::array<HeadQuery, kQueriesTogether> group;
      const size_t count = std::min(group.size(), places.size() - first);
      for (size_t i = 0; i < count; ++i) {
        const auto row = static_cast<int64_t>(first + i);
        group[i] = {queries.Row(row) + int64_t{head} * config_.query_width,
                    weights.Row(row) + head * weights.batch_stride,
                    attended.Row(row) + int64_t{head} * config_.value_width};
      }
      telltale::model::Attend(
          keys, scale(),
          mask_.Seen(places[first], places[first + count - 1], runs, head),
          std::span(group).first(count));
    }
    keys.keys += config_.query_width * keys.stride;
    keys.values += config_.value_width * keys.stride;
  }
}

}  // namespace telltale::model
