#include "model/layers/multi_head_attention.h"

#include <algorithm>
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
  activations.attended.Resize(x.rows, config_.value_columns());
  activations.blocks.resize(
      static_cast<size_t>((x.rows + kBlockQueries - 1) / kBlockQueries));
  int64_t begin = 0;
  for (AttentionActivations::Block& block : activations.blocks) {
    block.query_begin = begin;
    block.query_end = std::min(begin + kBlockQueries, x.rows);
    block.key_begin =
        config_.causal ? std::max<int64_t>(0, begin - layer_.reach + 1) : 0;
    block.key_end = config_.causal ? block.query_end : x.rows;
    begin = block.query_end;
    ForwardBlock(context, input.positions, block, activations);
  }
  Project(context, x, activations.attended.view(), y);
}

void MultiHeadAttention::ForwardBlock(Context& context,
                                      std::span<const double> positions,
                                      AttentionActivations::Block& block,
                                      AttentionActivations& activations) const {
  const int heads = config_.heads;
  const int64_t queries = block.query_end - block.query_begin;
  const int64_t keys = block.key_end - block.key_begin;
  const int64_t columns = ScoreMask::Columns(keys);
  block.weights.Resize(heads * queries, columns);
  const KeyRun run = {block.key_begin, keys, positions.data() + block.key_begin,
                      0};
  for (int64_t q = 0; q < queries; ++q) {
    const int64_t index = block.query_begin + q;
    mask_.Fill({index, positions[static_cast<size_t>(index)]}, {&run, 1}, keys,
               block.weights.Row(q), queries * columns);
  }
  const ConstMatrixView query =
      activations.query.view().Rows(block.query_begin, queries).Heads(heads);
  const ConstMatrixView key =
      activations.key.view().Rows(block.key_begin, keys).Heads(heads);
  const ConstMatrixView value =
      activations.value.view().Rows(block.key_begin, keys).Heads(heads);
  const MatrixView weights = KeyWeights(block.weights, heads, queries, keys);
  MatMul(context, query, key.Transposed(), weights,
         {.scale = scale(), .accumulate = true});
  Softmax(context, block.weights.view(), block.weights.view());
  MatMul(context, weights, value,
         activations.attended.view()
             .Rows(block.query_begin, queries)
             .Heads(heads));
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

  const KeyRun run = {block.key_begin, keys, positions.data() + block.key_begin,
                      0};
  for (int64_t q = 0; q < queries; ++q) {
    const int64_t index = block.query_begin + q;
    mask_.AddGradients({index, positions[static_cast<size_t>(index)]},
                       {&run, 1}, keys, a.dweights.Row(q), queries * columns,
                       gradients);
  }
  // scores = scale * query·key'.
  MatMul(context, dscores, key_rows(a.key), query_rows(a.dquery),
         {.scale = scale()});
  MatMul(context, ConstMatrixView(dscores).Transposed(), query_rows(a.query),
         key_rows(a.dkey), {.scale = scale(), .accumulate = true});
}

void MultiHeadAttention::Attend(Context& context,
                                const ConstMatrixView& queries,
                                std::span<const QueryPlace> places,
                                std::span<const KeyRun> runs,
                                const KvLayer& cache, Matrix& weights,
                                const MatrixView& attended) const {
  const int64_t heads = config_.heads;
  const int64_t slots = cache.slot_count();
  const int64_t columns = ScoreMask::Columns(slots);
  // Rows beyond the queries hold whatever was there: finite, and unused.
  weights.Resize(heads * kTileRows, columns);
  for (size_t q = 0; q < places.size(); ++q) {
    mask_.Fill(places[q], runs, slots, weights.Row(static_cast<int64_t>(q)),
               kTileRows * columns);
  }
  const MatrixView key_weights = KeyWeights(weights, heads, kTileRows, slots);
  MatMul(context, queries.Heads(heads),
         cache.keys.view().Heads(heads).Transposed(), key_weights,
         {.scale = scale(), .accumulate = true});
  Softmax(context, weights.view(), weights.view());
  MatMul(context, key_weights, cache.values.view().Heads(heads),
         attended.Heads(heads));
}

}  // namespace telltale::model
