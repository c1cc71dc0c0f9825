#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/checkpoint/checkpoint.h"
#include "model/detector.h"
#include "model/scoring/attribution.h"
#include "model/scoring/evidence.h"

namespace telltale::model {

// How severe a score is, given the threshold.
Severity SeverityOf(float score, float threshold);

// Score, probability, anomaly and severity from the channels' evidence.
void FillVerdict(const Checkpoint& checkpoint,
                 std::span<const ChannelEvidence> evidence,
                 InstantScore& score);

// Adds what the verdict's logit says to what FillVerdict said; returns whether
// it alone is reason for an alarm. The severity is then at least what the
// logit's decades of odds beyond its threshold make it.
bool AddVerdict(const Checkpoint& checkpoint, float logit, InstantScore& score);

// The channels' shares of the score: each in proportion to its squared
// evidence, so that a clear culprit stands out of many ordinary channels, and
// the more the larger its own residual is beside the others': a channel that
// goes with a faulty one parts from it as far as the fault goes, though it is
// as it was forecast.
// `expected(target, horizon)` is the forecast in the channel's unit.
void FillContributions(
    std::span<const ChannelEvidence> evidence, std::span<const int> targets,
    std::span<const float> samples,
    const std::function<float(int target, int horizon)>& expected,
    InstantScore& score);

// The largest explained residual [horizons, targets] of an instant.
Surprise FindSurprise(const ResidualScoring& scoring,
                      std::span<const int> targets,
                      std::span<const float> explained, int64_t time_ns);

}  // namespace telltale::model
