#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/series.h"
#include "model/encoder_config.h"
#include "model/input_encoding.h"
#include "model/matrix.h"
#include "model/random.h"
#include "model/training/fault_labels.h"
#include "model/training/range.h"

namespace telltale::model {

// One training example: consecutive instants with what follows each.
struct TrainingWindow {
  Range range;
  Matrix x;                       // [N, I], encoded
  std::vector<double> positions;  // [N]
  Matrix target;                  // [N, horizons * T], scaled; NaN: none
  std::vector<bool> fault;        // [N], labelled; empty: nothing is
  std::vector<float> samples;     // scratch, [N, channels]
};

// Cuts windows out of segments, with targets that lie the horizons ahead in
// time, by position: past a gap there is no target, and an instant of a
// labelled fault is none, since forecasts are to be nominal. Thread-safe.
class WindowSampler {
 public:
  // Views its arguments, which must outlive it. `input_noise` is in scaled
  // units.
  WindowSampler(std::span<const data::Series> segments, int64_t cadence_ns,
                const EncoderConfig& config, const InputEncoding& encoding,
                const FaultLabels& labels, double input_noise);

  // `length` instants (fewer in a shorter range) at a random place within the
  // ranges, each place as likely as the next. REQUIRES: no empty range.
  Range Draw(std::span<const Range> ranges, int length, Random& random) const;

  // Fills the window for `range`. With `random`, its input is spoilt a little,
  // its targets are not: noise, so that the encoder cannot know an instant
  // again by its last digits, and missing samples, so that it learns to do
  // without: single ones, and now and then a channel for a while.
  void Fill(const Range& range, const float* stand_in, Random* random,
            TrainingWindow& window) const;

 private:
  void DropSamples(int length, Random& random,
                   std::vector<float>& samples) const;
  void FillTargets(TrainingWindow& window) const;

  std::span<const data::Series> segments_;
  const int64_t cadence_ns_;
  const EncoderConfig& config_;
  const InputEncoding& encoding_;
  const FaultLabels& labels_;
  const double input_noise_;
};

}  // namespace telltale::model
