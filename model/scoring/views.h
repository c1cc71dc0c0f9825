#pragma once

#include <cstddef>

namespace telltale::model {

// Views that follow a channel over minutes: means of these magnitudes.
enum class SlowView {
  kResidual,    // of the residual
  kHabituated,  // the recent samples' distance from all that is known
  kShape,       // the same of their shape alone, from what training knew
  kDistance,    // the same of the samples, from what training knew
};
inline constexpr int kSlowViews = 4;

// Where the views of an instant stand in a row: magnitudes of any unit, larger
// for stranger; NaN where there is nothing to see. m horizons, T channels
// forecast.
struct ViewLayout {
  int horizons = 0;  // m
  int targets = 0;   // T

  // The explained residual of the shortest horizon, in deviations.
  size_t Magnitude(int target) const { return At(0, target); }
  // The moving average of what a residual is beyond those of other channels.
  size_t Average(int horizon, int target) const {
    return At(1 + horizon, target);
  }
  // How clearly an effect that was forecast has not come.
  size_t Absence(int target) const { return At(1 + horizons, target); }
  // The moving average of the samples, as they are above or below their middle.
  size_t Level(int target) const { return At(2 + horizons, target); }
  size_t Slow(SlowView view, int target) const {
    return At(3 + horizons + static_cast<int>(view), target);
  }
  size_t count() const { return At(3 + horizons + kSlowViews, 0); }

 private:
  size_t At(int row, int target) const {
    return static_cast<size_t>(row) * static_cast<size_t>(targets) +
           static_cast<size_t>(target);
  }
};

}  // namespace telltale::model
