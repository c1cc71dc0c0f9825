#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "model/checkpoint/safetensors.h"
#include "model/encoder_config.h"
#include "model/scoring/evidence.h"
#include "model/scoring/tail_curve.h"

namespace telltale::model {

// The parts of a checkpoint file that tell how views are judged:
//   scoring.deviation        [horizons, targets]
//   scoring.mixing           [horizons, targets, targets]
//   scoring.coupling         [horizons, targets, targets]
//   scoring.curves           [views, curve]; views.h
//   scoring.lagged_curves    [slow views * targets, curve]
//   scoring.novelty_weight   [targets]
//   scoring.bank.TARGET      [taps, points], where its weight is not 0

// kDataLoss, in these words.
absl::Status Damaged(absl::string_view what);

// The values of a float tensor of this shape, all finite. kDataLoss otherwise.
absl::StatusOr<std::span<const float>> TensorValues(
    const TensorFile& file, const std::string& name,
    const std::vector<int64_t>& shape);

absl::Status ReadCurves(const TensorFile& file, const std::string& name,
                        size_t count, std::vector<TailCurve>& curves);
StoredTensor StoreCurves(std::span<const TailCurve> curves);

absl::StatusOr<Scoring> ReadScoring(const TensorFile& file,
                                    const EncoderConfig& config);
void StoreScoring(const Scoring& scoring, TensorFile& file);

}  // namespace telltale::model
