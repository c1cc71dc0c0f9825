#pragma once

#include <cstdint>
#include <vector>

#include "model/detector.h"
#include "model/input_encoding.h"
#include "model/kv_cache.h"
#include "model/scoring/attribution.h"
#include "model/scoring/instant_readout.h"
#include "model/stream_encoder.h"

namespace telltale::model {

// Finds the earlier instants that a verdict rests on: what its logit owes to
// the inputs of each instant. Unlike those behind a forecast's alarm they are
// not weighed by how unusual they were: surprise is that of forecast channels,
// and what leads to a labelled fault may be a command.
//
// Views config and encoding, which must outlive it. Holds scratch and belongs
// to one thread.
class VerdictAttribution {
 public:
  VerdictAttribution(const EncoderConfig& config, const InputEncoding& encoding)
      : config_(config), encoding_(encoding), readout_(config) {}

  // Of the verdict on the instant of that index, which came at that time.
  // REQUIRES: it is among the cache's lookback, and the encoder gives verdicts.
  std::vector<PointedInstant> PointBack(StreamEncoder& encoder, KvCache& cache,
                                        const SurpriseLog& log, int64_t index,
                                        int64_t time_ns);

 private:
  const EncoderConfig& config_;
  const InputEncoding& encoding_;
  InstantReadout readout_;
};

}  // namespace telltale::model
