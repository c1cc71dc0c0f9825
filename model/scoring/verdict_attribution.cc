#include "model/scoring/verdict_attribution.h"

#include <numeric>
#include <span>

namespace telltale::model {

std::vector<PointedInstant> VerdictAttribution::PointBack(
    Context& context, Encoder& encoder, KvCache& cache, const SurpriseLog& log,
    int64_t index, int64_t time_ns) {
  const int logit = config_.forecast_width();
  if (!config_.KeepsInputs()) {
    const int64_t first_key =
        encoder.Explain(context, cache, index, logit, readout_);
    return RankEarlierInstants(readout_, first_key, config_.stem_taps, log,
                               index, time_ns, CandidateWeight::kReadout);
  }
  const int64_t first =
      encoder.ExplainInputs(context, cache, index, logit, parts_);
  readout_.clear();
  for (int64_t i = 0; i < parts_.rows(); ++i) {
    const std::span<const float> row(parts_.Row(i),
                                     static_cast<size_t>(parts_.columns()));
    readout_.push_back(std::accumulate(row.begin(), row.end(), 0.0F));
  }
  // What belongs to an instant itself is not spread over a stem's taps.
  auto ranked = RankEarlierInstants(readout_, first, /*stem_taps=*/1, log,
                                    index, time_ns, CandidateWeight::kReadout);
  for (PointedInstant& pointed : ranked) {
    pointed.channel =
        encoding_.LargestChannel(parts_.Row(index - pointed.lag - first));
  }
  return ranked;
}

}  // namespace telltale::model
