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
#include "model/parameters.h"

namespace telltale::model {

// What Forward keeps for Backward, over one series of N instants.
struct EncoderActivations {
  struct Layer {
    Matrix input;   // [N, D]
    Matrix middle;  // [N, D], after attention
    AttentionActivations attention;
    FeedForwardActivations feed_forward;
  };

  std::vector<double> positions;  // [N]
  RotaryAngles angles;
  Matrix padded;  // [taps - 1 + N, I], zeros first
  Matrix taps;    // [N, taps * I]
  StemActivations stem_activations;
  Matrix stem;  // [N, D]
  std::vector<Layer> layers;
  Matrix last;  // [N, D], out of the last layer
  NormActivations norm;
  // [N, output_width()]: horizons * T forecasts, horizon-major, then the
  // verdict's logit if there is one.
  Matrix forecast;
  Matrix dx, dmiddle, dstem, dtaps;  // scratch
};

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

// The causal self-attention encoder with its forecast head: stem, layers of
// attention and feed-forward, final norm, linear head.
//
// It is defined on the stream: an instant attends to itself and to the
// `reach - 1` instants before it. Forward evaluates a whole series at once,
// Advance the next instants of many streams against their caches; they are the
// same function.
//
// Views config and parameters, which must outlive it. Holds scratch and
// belongs, with its Context, to one thread.
class Encoder {
 public:
  Encoder(const EncoderConfig& config, const Parameters& parameters);

  // x[N, I] at positions[N], in units of the cadence.
  void Forward(Context& context, const ConstMatrixView& x,
               std::span<const double> positions,
               EncoderActivations& activations) const;

  // Given dforecast, adds to `gradients` and writes dx[N, I].
  void Backward(Context& context, EncoderActivations& activations,
                const ConstMatrixView& dforecast, Parameters& gradients,
                const MatrixView& dx) const;

  // Advances each stream over its rows. No cache twice. A row's forecast does
  // not depend, to the bit, on the other rows of the call: every product has
  // kTileRows rows, whoever they belong to.
  void Advance(Context& context, std::span<StreamRows> streams);

  // What the output in `column` of instant `query_index`, a forecast or the
  // verdict's logit, owes to each earlier instant: the sum over heads of
  // |attention x gradient| of the last layer. Writes one value for each instant
  // from the returned index on, up to the query. REQUIRES: the query is among
  // the cache's lookback.
  int64_t Explain(Context& context, KvCache& cache, int64_t query_index,
                  int column, std::vector<float>& readout);

  // The same, carried on to the inputs: what the output owes to each input
  // column of each instant, through the stems of the keys that bear on it most.
  // Writes parts[instants, I] for each instant from the returned index on, up
  // to the query; each key's part is divided among what its stem covers in
  // proportion to |gradient x input|.
  // REQUIRES: as Explain; config.KeepsInputs().
  int64_t ExplainInputs(Context& context, KvCache& cache, int64_t query_index,
                        int column, Matrix& parts);

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
  void ForecastWithout(Context& context, KvCache& cache, int64_t query_index,
                       std::span<const std::vector<int64_t>> hidden,
                       const MatrixView& forecast);

 private:
  // The steps of Advance, over the rows of all streams padded to whole tiles.
  void GatherRows(std::span<StreamRows> streams);
  void AdvanceLayer(Context& context, size_t n, std::span<StreamRows> streams);
  void AttendStream(size_t n, StreamRows& stream, int64_t row);
  void Commit(std::span<StreamRows> streams);

  // The steps of Explain; of their tiles only the first row counts.
  // The weights of a remembered query and what it attended to, once more.
  void AttendAgain(KvCache& cache, int64_t query_index);
  // From what was attended to on to the forecast in `column`, and back: leaves
  // its gradient in tile_attended_.
  void DifferentiateForecast(Context& context, const float* input_row,
                             int column);
  // Into along_: the gradient of what a head attended to, along the value in
  // each slot.
  void AlongValues(const KvLayer& layer, int head);
  void DifferentiateKeys(Context& context, KvCache& cache, int64_t begin,
                         std::span<const size_t> places);

  int64_t tile_count() const { return taps_.rows() / kTileRows; }
  static MatrixView Tile(Matrix& matrix, int64_t tile) {
    return matrix.view().Rows(tile * kTileRows, kTileRows);
  }

  const EncoderConfig& config_;
  const Parameters& parameters_;
  std::vector<MultiHeadAttention> attention_;

  // Scratch of Advance: [rows of all streams, padded], by tiles.
  std::vector<double> positions_;
  std::vector<RotaryAngles> angles_;  // one a tile
  Matrix padded_, taps_, stem_, h_, middle_;
  Matrix query_, key_, value_, attended_, forecast_;
  // Of one tile or one stream.
  Matrix tile_attended_, weights_, tile_a_, tile_b_, tile_c_, tile_d_,
      tile_taps_;
  std::vector<float> along_;
  StemActivations stem_scratch_;
  AttentionActivations attention_scratch_;
  FeedForwardActivations feed_forward_scratch_;
  NormActivations norm_scratch_;
  Parameters gradient_sink_;  // of Explain, which wants none of its own
};

}  // namespace telltale::model
