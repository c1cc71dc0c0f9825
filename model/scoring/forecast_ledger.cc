#include "model/scoring/forecast_ledger.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/positions.h"
#include "model/scoring/byte_io.h"

namespace telltale::model {

ForecastLedger::ForecastLedger(const EncoderConfig& config)
    : config_(&config),
      forecasts_(Length(config), config.forecast_width()),
      positions_(static_cast<size_t>(forecasts_.rows()), 0.0),
      indices_(static_cast<size_t>(forecasts_.rows()), -1) {}

void ForecastLedger::Record(int64_t index, double position,
                            std::span<const float> forecast) {
  const size_t row = Row(index);
  std::ranges::copy(forecast, forecasts_.Row(static_cast<int64_t>(row)));
  positions_[row] = position;
  indices_[row] = index;
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
      residuals[i] = made ? targets[c] - At(*made)[i]
                          : std::numeric_limits<float>::quiet_NaN();
    }
  }
}

void ForecastLedger::Save(std::string& bytes) const {
  AppendBytes(forecasts_.floats(), bytes);
  AppendBytes(positions_, bytes);
  AppendBytes(indices_, bytes);
}

bool ForecastLedger::Restore(std::string_view& bytes) {
  return TakeBytes(bytes, forecasts_.floats()) &&
         TakeBytes(bytes, positions_) && TakeBytes(bytes, indices_);
}

}  // namespace telltale::model
