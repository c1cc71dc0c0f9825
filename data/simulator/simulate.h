#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/labels.h"
#include "data/series.h"
#include "data/simulator/engine.h"
#include "data/simulator/fault.h"

namespace telltale::data {

// The time between two instants of a simulated run; the first is at zero.
inline constexpr int64_t kSimulatedCadenceNs = 1'000'000'000;

// What a fault is called in a labels file: its effect and the channel on which
// it shows, its cause if it has an earlier one, and its kind.
std::vector<LabelledEvent> LabelsOf(std::span<const Fault> faults);

// A whole run at once.
struct SimulatedRun {
  Series series;
  std::vector<LabelledEvent> labels;  // in order of time
};
// REQUIRES: 0 <= options.steps <= 2^31 - 1.
SimulatedRun Simulate(const Engine::Options& options);

}  // namespace telltale::data
