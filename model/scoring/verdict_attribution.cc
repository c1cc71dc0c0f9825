#include "model/scoring/verdict_attribution.h"

namespace telltale::model {

std::vector<PointedInstant> VerdictAttribution::PointBack(
    StreamEncoder& encoder, KvCache& cache, const SurpriseLog& log,
    int64_t index, int64_t time_ns) {
  const Readout readout = readout_.Read(encoder, cache, index,
                                        /*column=*/config_.forecast_width());
  auto ranked =
      RankEarlierInstants(readout.values, readout.first, readout_.taps(), log,
                          index, time_ns, CandidateWeight::kReadout);
  if (!config_.KeepsInputs()) return ranked;
  for (PointedInstant& pointed : ranked) {
    pointed.channel =
        encoding_.LargestChannel(readout_.Columns(index - pointed.lag));
  }
  return ranked;
}

}  // namespace telltale::model
