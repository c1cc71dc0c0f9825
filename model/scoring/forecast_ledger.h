#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/encoder_config.h"
#include "model/matrix.h"

namespace telltale::model {

// The forecasts that a stream made lately, kept until what they are about
// arrives. Forecast and instant meet by position, so that what was forecast
// for a gap meets nothing.
class ForecastLedger {
 public:
  // Instants whose forecasts are kept: four times the longest horizon, so that
  // a stream sampled up to four times as densely as in training still meets
  // its forecasts.
  static int64_t Length(const EncoderConfig& config) {
    return int64_t{4} * config.horizons.back() + 1;
  }

  explicit ForecastLedger(const EncoderConfig& config);

  // Records the forecast [horizons * T] made at an instant, and its scaled
  // samples [T]; NaN: missing. Indices rise by one, positions rise.
  void Record(int64_t index, double position, std::span<const float> forecast,
              std::span<const float> samples);

  // The instant at which horizon `horizon` of `position` was forecast, among
  // those before `index`; none when there was no such instant or it is long
  // gone.
  std::optional<int64_t> MadeAt(int64_t index, double position,
                                int horizon) const;

  // The forecast recorded at `index`. REQUIRES: returned by MadeAt.
  std::span<const float> At(int64_t index) const;

  // The residuals [horizons * T] of an instant, observed minus forecast, from
  // its scaled targets [T]; NaN where either is missing. `made_at` [horizons]
  // receives where each forecast was made; -1: nowhere.
  void Residuals(int64_t index, double position, std::span<const float> targets,
                 std::span<float> residuals, std::span<int64_t> made_at) const;

  // The change [T] that the forecast of `horizon` recorded at `made_at`
  // foretold, from the level of late, a moving average; NaN where there is
  // none (made_at is negative).
  void Change(int64_t made_at, int horizon, std::span<float> change) const;

  void Save(std::string& bytes) const;
  bool Restore(std::string_view& bytes);

 private:
  size_t Row(int64_t index) const {
    return static_cast<size_t>(index % forecasts_.rows());
  }

  void RecordLevel(int64_t index, std::span<const float> samples);

  const EncoderConfig* config_;
  Matrix forecasts_;               // [slots, horizons * T], a ring
  Matrix samples_;                 // [slots, T]: the last valid ones, a ring
  Matrix levels_;                  // [slots, T]: their moving average, a ring
  std::vector<double> positions_;  // [slots]
  std::vector<int64_t> indices_;   // [slots]; -1: never written
};

}  // namespace telltale::model
