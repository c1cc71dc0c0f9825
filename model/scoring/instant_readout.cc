#include "model/scoring/instant_readout.h"

#include <numeric>

namespace telltale::model {

int64_t InstantReadout::Length(const EncoderConfig& config) {
  const int64_t keys = config.layers.back().reach;
  return config.KeepsInputs() ? keys + config.stem_taps - 1 : keys;
}

Readout InstantReadout::Read(StreamEncoder& encoder, KvCache& cache,
                             int64_t query_index, int column) {
  Readout readout;
  if (!config_.KeepsInputs()) {
    readout.first = encoder.Explain(cache, query_index, column, readout.values);
    return readout;
  }
  first_ = encoder.ExplainInputs(cache, query_index, column, parts_);
  readout.first = first_;
  readout.values.reserve(static_cast<size_t>(parts_.rows()));
  for (int64_t i = 0; i < parts_.rows(); ++i) {
    const float* row = parts_.Row(i);
    readout.values.push_back(
        std::accumulate(row, row + parts_.columns(), 0.0F));
  }
  return readout;
}

}  // namespace telltale::model
