#include "model/checkpoint/scoring_tensors.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"

namespace telltale::model {
namespace {

std::string BankName(size_t target) {
  return absl::StrFormat("scoring.bank.%d", target);
}

absl::Status ReadResiduals(const TensorFile& file, ResidualScoring& scoring) {
  const int64_t m = scoring.horizons;
  const int64_t targets = scoring.targets;
  auto deviation = TensorValues(file, "scoring.deviation", {m, targets});
  if (!deviation.ok()) return deviation.status();
  for (float value : *deviation) {
    if (value <= 0) return Damaged("tensor scoring.deviation is not positive");
  }
  auto mixing = TensorValues(file, "scoring.mixing", {m, targets, targets});
  if (!mixing.ok()) return mixing.status();
  auto coupling = TensorValues(file, "scoring.coupling", {m, targets, targets});
  if (!coupling.ok()) return coupling.status();
  scoring.deviation.assign(deviation->begin(), deviation->end());
  scoring.mixing.assign(mixing->begin(), mixing->end());
  scoring.coupling.assign(coupling->begin(), coupling->end());
  return absl::OkStatus();
}

absl::StatusOr<Matrix> ReadBank(const TensorFile& file,
                                const std::string& name) {
  const auto found = file.tensors.find(name);
  const int64_t points =
      found == file.tensors.end() || found->second.shape.size() != 2
          ? 0
          : found->second.shape[1];
  if (points < 1 || points > NoveltyScoring::kBankSize) {
    return Damaged(absl::StrFormat("tensor %s is missing or holds %d points",
                                   name, points));
  }
  auto values = TensorValues(file, name, {NoveltyScoring::kTaps, points});
  if (!values.ok()) return values.status();
  Matrix bank(NoveltyScoring::kTaps, points);
  bank.floats().assign(values->begin(), values->end());
  return bank;
}

absl::Status ReadNovelty(const TensorFile& file, size_t targets,
                         NoveltyScoring& novelty) {
  auto weight = TensorValues(file, "scoring.novelty_weight",
                             {static_cast<int64_t>(targets)});
  if (!weight.ok()) return weight.status();
  novelty.weight.assign(weight->begin(), weight->end());
  novelty.banks.resize(targets);
  for (size_t c = 0; c < targets; ++c) {
    if (novelty.weight[c] < 0) {
      return Damaged("tensor scoring.novelty_weight is negative");
    }
    if (novelty.weight[c] <= 0) continue;
    auto bank = ReadBank(file, BankName(c));
    if (!bank.ok()) return bank.status();
    novelty.banks[c] = *std::move(bank);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Damaged(absl::string_view what) {
  return absl::DataLossError(
      absl::StrFormat("not a whole checkpoint: %s", what));
}

absl::StatusOr<std::span<const float>> TensorValues(
    const TensorFile& file, const std::string& name,
    const std::vector<int64_t>& shape) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) {
    return Damaged(absl::StrFormat("tensor %s is missing", name));
  }
  const StoredTensor& tensor = found->second;
  if (tensor.type != TensorType::kF32 || tensor.shape != shape) {
    return Damaged(absl::StrFormat(
        "tensor %s does not have the type and shape of its encoder", name));
  }
  for (float value : tensor.values) {
    if (!std::isfinite(value)) {
      return Damaged(absl::StrFormat("tensor %s is not finite", name));
    }
  }
  return std::span<const float>(tensor.values);
}

absl::Status ReadCurves(const TensorFile& file, const std::string& name,
                        size_t count, std::vector<TailCurve>& curves) {
  auto values =
      TensorValues(file, name, {static_cast<int64_t>(count), TailCurve::kSize});
  if (!values.ok()) return values.status();
  for (size_t i = 0; i < count; ++i) {
    const auto curve = values->subspan(i * TailCurve::kSize, TailCurve::kSize);
    if (auto s = TailCurve::Check(curve); !s.ok()) return Damaged(s.message());
    curves.push_back(TailCurve::FromValues(curve));
  }
  return absl::OkStatus();
}

StoredTensor StoreCurves(std::span<const TailCurve> curves) {
  std::vector<float> values;
  for (const TailCurve& curve : curves) {
    values.insert(values.end(), curve.values().begin(), curve.values().end());
  }
  return StoredTensor::Of(
      {static_cast<int64_t>(curves.size()), TailCurve::kSize}, values);
}

absl::StatusOr<Scoring> ReadScoring(const TensorFile& file,
                                    const EncoderConfig& config) {
  Scoring scoring;
  scoring.residuals.horizons = static_cast<int>(config.horizons.size());
  scoring.residuals.targets = config.targets;
  scoring.residuals.reference = config.reference_horizon();
  const auto targets = static_cast<size_t>(config.targets);
  absl::Status status = ReadResiduals(file, scoring.residuals);
  if (status.ok()) status = ReadNovelty(file, targets, scoring.novelty);
  if (status.ok()) {
    status = ReadCurves(file, "scoring.curves",
                        scoring.residuals.layout().count(), scoring.curves);
  }
  if (status.ok()) {
    status = ReadCurves(file, "scoring.lagged_curves", kSlowViews * targets,
                        scoring.lagged_curves);
  }
  if (!status.ok()) return status;
  return scoring;
}

void StoreScoring(const Scoring& scoring, TensorFile& file) {
  const int64_t m = scoring.residuals.horizons;
  const int64_t targets = scoring.residuals.targets;
  file.tensors["scoring.deviation"] =
      StoredTensor::Of({m, targets}, scoring.residuals.deviation);
  file.tensors["scoring.mixing"] =
      StoredTensor::Of({m, targets, targets}, scoring.residuals.mixing);
  file.tensors["scoring.coupling"] =
      StoredTensor::Of({m, targets, targets}, scoring.residuals.coupling);
  file.tensors["scoring.curves"] = StoreCurves(scoring.curves);
  file.tensors["scoring.lagged_curves"] = StoreCurves(scoring.lagged_curves);
  file.tensors["scoring.novelty_weight"] =
      StoredTensor::Of({targets}, scoring.novelty.weight);
  for (size_t c = 0; c < scoring.novelty.banks.size(); ++c) {
    const Matrix& bank = scoring.novelty.banks[c];
    if (bank.columns() == 0) continue;
    file.tensors[BankName(c)] =
        StoredTensor::Of({bank.rows(), bank.columns()}, bank.floats());
  }
}

}  // namespace telltale::model
