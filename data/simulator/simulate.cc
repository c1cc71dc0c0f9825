#include "data/simulator/simulate.h"

#include <array>
#include <string>

#include "data/simulator/engine_channels.h"

namespace telltale::data {
namespace {

TimeRange RangeOf(const Interval& interval) {
  return {interval.begin * kSimulatedCadenceNs,
          interval.end * kSimulatedCadenceNs};
}

}  // namespace

std::vector<LabelledEvent> LabelsOf(std::span<const Fault> faults) {
  std::vector<LabelledEvent> labels;
  labels.reserve(faults.size());
  for (const Fault& fault : faults) {
    const TimeRange shown = RangeOf(fault.effect);
    LabelledEvent label;
    label.start_ns = shown.start_ns;
    label.end_ns = shown.end_ns;
    if (fault.cause) {
      label.cause = RangeOf(fault.cause->Cause());
      label.cause_channel = EngineChannels()[fault.cause_channel()].name;
    }
    label.kind = FaultKindName(fault.kind);
    label.channel = EngineChannels()[fault.channel].name;
    labels.push_back(std::move(label));
  }
  return labels;
}

SimulatedRun Simulate(const Engine::Options& options) {
  Engine engine(options);
  SimulatedRun run;
  run.series.channels = EngineChannels();
  std::array<float, kEngineChannelCount> instant = {};
  for (int64_t t = 0; engine.Next(instant); ++t) {
    run.series.time_ns.push_back(t * kSimulatedCadenceNs);
    run.series.samples.insert(run.series.samples.end(), instant.begin(),
                              instant.end());
  }
  run.labels = LabelsOf(engine.faults());
  return run;
}

}  // namespace telltale::data
