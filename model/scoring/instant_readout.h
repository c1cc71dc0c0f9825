#pragma once

#include <cstdint>

#include "model/kv_cache.h"
#include "model/matrix.h"
#include "model/ops/context.h"
#include "model/scoring/readout_log.h"
#include "model/stream_encoder.h"

namespace telltale::model {

// Reads out what one output of the encoder, a forecast or the verdict's logit,
// owes to each earlier instant. Where the last layer's keys are local in time,
// a key's part goes on to the inputs under its stem, so that a part belongs to
// an instant itself; otherwise it stays with the key.
//
// Views config, which must outlive it. Holds scratch and belongs to one thread.
class InstantReadout {
 public:
  explicit InstantReadout(const EncoderConfig& config) : config_(config) {}

  // The longest read-out there is.
  static int64_t Length(const EncoderConfig& config);

  // Of the output in `column` of instant `query_index`.
  // REQUIRES: it is among the cache's lookback.
  Readout Read(StreamEncoder& encoder, KvCache& cache, int64_t query_index,
               int column);

  // Instants that a part stands for, of which the named one is the last.
  int taps() const { return config_.KeepsInputs() ? 1 : config_.stem_taps; }

  // The parts of the columns of an instant of the last read-out, [I].
  // REQUIRES: config.KeepsInputs().
  const float* Columns(int64_t index) const {
    return parts_.Row(index - first_);
  }

 private:
  const EncoderConfig& config_;
  Matrix parts_;  // [instants, I]
  int64_t first_ = 0;
};

}  // namespace telltale::model
