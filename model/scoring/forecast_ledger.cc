#include "model/scoring/forecast_ledger.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/positions.h"
#include "model/scoring/byte_io.h"

namespace telltale::model {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

// The level of late: exponential weights over so many instants, which the
// ledger holds for every horizon.
constexpr int kLevelTaps = 32;
constexpr float kLevelDecay = 0.9F;

}  // namespace

ForecastLedger::ForecastLedger(const EncoderConfig& config)
    : config_(&config),
      forecasts_(Length(config), config.forecast_width()),
      samples_(Length(config), config.targets),
      levels_(Length(config), config.targets),
      positions_(static_cast<size_t>(forecasts_.rows()), 0.0),
      indices_(static_cast<size_t>(forecasts_.rows()), -1) {}

void ForecastLedger::Record(int64_t index, double position,
                            std::span<const float> forecast,
                            std::span<const float> samples) {
  const size_t row = Row(index);
  std::ranges::copy(forecast, forecasts_.Row(static_cast<int64_t>(row)));
  positions_[row] = position;
  indices_[row] = index;
  RecordLevel(index, samples);
}

void ForecastLedger::RecordLevel(int64_t index,
                                 std::span<const float> samples) {
  const auto known = [&](int64_t i) { return i >= 0 && indices_[Row(i)] == i; };
  const auto row = [&](int64_t i) { return static_cast<int64_t>(Row(i)); };
  float* held = samples_.Row(row(index));
  const float* before =
      known(index - 1) ? samples_.Row(row(index - 1)) : nullptr;
  for (size_t c = 0; c < samples.size(); ++c) {
    const bool missing = std::isnan(samples[c]);
    held[c] = missing && before != nullptr ? before[c] : samples[c];
  }
  float* level = levels_.Row(row(index));
  for (size_t c = 0; c < samples.size(); ++c) {
    float sum = 0;
    float total = 0;
    float weight = 1;
    for (int64_t i = index; i > index - kLevelTaps && known(i); --i) {
      const float sample = samples_.Row(row(i))[c];
      if (!std::isnan(sample)) {
        sum += weight * sample;
        total += weight;
      }
      weight *= kLevelDecay;
    }
    level[c] = total > 0 ? sum / total : kMissing;
  }
}

void ForecastLedger::Change(int64_t made_at, int horizon,
                            std::span<float> change) const {
  if (made_at < 0) {
    std::ranges::fill(change, kMissing);
    return;
  }
  const float* level = levels_.Row(static_cast<int64_t>(Row(made_at)));
  const std::span<const float> forecast =
      At(made_at).subspan(static_cast<size_t>(horizon) * change.size());
  for (size_t c = 0; c < change.size(); ++c) change[c] = forecast[c] - level[c];
}

std::optional<int64_t> ForecastLedger::MadeAt(int64_t index, double position,
                                              int horizon) const {
  const double aim = position - config_->horizons[static_cast<size_t>(horizon)];
  const auto known = [&](int64_t i) {
    return i >= 0 && i < index && indices_[Row(i)] == i;
  };
  // Nearly always right at once; otherwise denser or sparser sampling.
  int64_t i = index - config_->horizons[static_cast<size_t>(horizon)];
  while (known(i) && positions_[Row(i)] >= aim + kSameInstant) --i;
  while (i < index && (!known(i) || positions_[Row(i)] < aim - kSameInstant)) {
    ++i;
  }
  if (!known(i) || std::abs(positions_[Row(i)] - aim) >= kSameInstant) {
    return std::nullopt;
  }
  return i;
}

std::span<const float> ForecastLedger::At(int64_t index) const {
  return {forecasts_.Row(static_cast<int64_t>(Row(index))),
          static_cast<size_t>(forecasts_.columns())};
}

void ForecastLedger::Residuals(int64_t index, double position,
                               std::span<const float> targets,
                               std::span<float> residuals,
                               std::span<int64_t> made_at) const {
  for (size_t h = 0; h < config_->horizons.size(); ++h) {
    const auto made = MadeAt(index, position, static_cast<int>(h));
    made_at[h] = made.value_or(-1);
    for (size_t c = 0; c < targets.size(); ++c) {
      const size_t i = h * targets.size() + c;
      residuals[i] = made ? targets[c] - At(*made)[i] : kMissing;
    }
  }
}

void ForecastLedger::Save(std::string& bytes) const {
  AppendBytes(forecasts_.floats(), bytes);
  AppendBytes(samples_.floats(), bytes);
  AppendBytes(levels_.floats(), bytes);
  AppendBytes(positions_, bytes);
  AppendBytes(indices_, bytes);
}

bool ForecastLedger::Restore(std::string_view& bytes) {
  return TakeBytes(bytes, forecasts_.floats()) &&
         TakeBytes(bytes, samples_.floats()) &&
         TakeBytes(bytes, levels_.floats()) && TakeBytes(bytes, positions_) &&
         TakeBytes(bytes, indices_);
}

}  // namespace telltale::model
