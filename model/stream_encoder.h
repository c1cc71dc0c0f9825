#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/encoder_config.h"
#include "model/kv_cache.h"
#include "model/layers/feed_forward.h"
#include "model/layers/multi_head_attention.h"
#include "model/layers/norm.h"
#include "model/layers/rotary.h"
#include "model/layers/stem.h"
#include "model/matrix.h"
#include "model/ops/context.h"
#include "model/ops/operand.h"
#include "model/packed_parameters.h"
#include "model/parameters.h"

namespace telltale::model {

// The weights of one query in one layer, for those who want to see them.
struct AttentionRow {
  int64_t query_index = 0;
  int64_t first_key_index = 0;
  Matrix weights;              // [H, keys]
  std::vector<float> nothing;  // [H]
};

// New instants of one stream, at most kTileRows of them.
struct StreamRows {
  KvCache* cache = nullptr;
  ConstMatrixView x;                  // [n, I]
  std::span<const double> positions;  // [n], units of cadence
  MatrixView forecast;                // [n, output_width()], written
  // One vector a layer, or null: receives the attention of these instants.
  std::vector<std::vector<AttentionRow>>* attention = nullptr;
};

// The encoder (encoder.h) for serving: advances over the next instants of many
// streams against their caches, and looks back from what it forecast. The same
// function as Encoder::Forward, without its gradients.
//
// Views context, config and parameters, which must outlive it and stay as they
// are: the weights are packed as it is made. Holds scratch and belongs, with
// its Context, to one thread.
class StreamEncoder {
 public:
  // REQUIRES: IsSupported(precision).
  StreamEncoder(Context& context, const EncoderConfig& config,
                const Parameters& parameters,
                Precision precision = Precision::kFloat32);

  // Advances each stream over its rows. No cache twice. A row's forecast does
  // not depend, to the bit, on the other rows of the call.
  void Advance(std::span<StreamRows> streams);

  // What the output in `column` of instant `query_index`, a forecast or the
  // verdict's logit, owes to each earlier instant: the sum over heads of
  // |attention x gradient| of the last layer. Writes one value for each instant
  // from the returned index on, up to the query. REQUIRES: the query is among
  // the cache's lookback.
  int64_t Explain(KvCache& cache, int64_t query_index, int column,
                  std::vector<float>& readout);

  // The same, carried on to the inputs: what the output owes to each input
  // column of each instant, through the stems of the keys that bear on it most.
  // Writes parts[instants, I] for each instant from the returned index on, up
  // to the query; each key's part is divided among what its stem covers in
  // proportion to |gradient x input|.
  // REQUIRES: as Explain; config.KeepsInputs().
  int64_t ExplainInputs(KvCache& cache, int64_t query_index, int column,
                        Matrix& parts);

  // The forecasts that instant `query_index` would have made, had it not been
  // shown the keys of the instants in hidden[i], in any layer: row i of
  // `forecast`, [hidden.size(), horizons * T]. One pass for all of them; the
  // same to the bit however the sets are put together, and with nothing hidden
  // the forecast that Advance wrote.
  //
  // The query alone is evaluated anew. That is exact where every layer above
  // the first takes its keys from the stem; keys that an upper layer takes from
  // the one below keep what they had heard of hidden instants.
  // REQUIRES: the query is among the cache's lookback; hidden.size() <=
  // kTileRows.
  void ForecastWithout(KvCache& cache, int64_t query_index,
                       std::span<const std::vector<int64_t>> hidden,
                       const MatrixView& forecast);

 private:
  // The parts of the encoder, for all rows at once. h_ is the residual stream.
  // What the stem makes of taps_, into stem_ and h_.
  void EvaluateStem();
  // Queries, keys and values of layer `n`, into queries_, keys_ and values_.
  void Project(size_t n);
  // The rest of layer `n`, from what its queries attended to.
  void FinishLayer(size_t n);
  // From h_ to forecast_.
  void EvaluateHead();
  void ResizeRows(int64_t rows);

  // The steps of Advance.
  void GatherRows(std::span<StreamRows> streams);
  void AttendStream(size_t n, StreamRows& stream, int64_t row);
  void Commit(std::span<StreamRows> streams);

  // The steps of Explain, in float32; of their tiles only the first row counts.
  // The weights of a remembered query and what it attended to, once more.
  void AttendAgain(KvCache& cache, int64_t query_index);
  // From what was attended to on to the forecast in `column`, and back: leaves
  // its gradient in tile_attended_.
  void DifferentiateForecast(const float* input_row, int column);
  // Into along_: the gradient of what a head attended to, along the value in
  // each slot.
  void AlongValues(const KvLayer& layer, int head);
  void DifferentiateKeys(KvCache& cache, int64_t begin,
                         std::span<const size_t> places);

  Context& context_;
  const EncoderConfig& config_;
  const Parameters& parameters_;
  PackedParameters packed_;
  const std::vector<double> frequencies_;
  std::vector<MultiHeadAttention> attention_;

  // Of the rows of all streams, one after the other, and up to the next count
  // of rows that the products accept.
  std::vector<double> positions_;
  RotaryAngles angles_;
  Matrix padded_, taps_, stem_, h_, from_normed_, from_stem_, attended_,
      forecast_;
  MatrixView queries_, keys_, values_;  // of one layer, into from_...
  Operand taps_operand_, stem_operand_, attended_operand_, normed_, active_;
  // Of one tile or one stream.
  Matrix tile_attended_, weights_, tile_a_, tile_b_, tile_c_, tile_d_,
      tile_taps_, tile_values_;
  std::vector<float> along_;
  StemActivations stem_scratch_;
  FeedForwardActivations feed_forward_scratch_;
  NormActivations norm_scratch_;
  Parameters gradient_sink_;  // of Explain, which wants none of its own
};

}  // namespace telltale::model
