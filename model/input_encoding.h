#pragma once

#include <span>
#include <vector>

#include "data/channel.h"
#include "model/random.h"
#include "model/scaler.h"

namespace telltale::model {

// From an instant's samples to the encoder's input columns. Each channel gives
//   continuous, command: its scaled value, then its missing-indicator,
//   discrete: one column for each code of its vocabulary, then the indicator.
// A missing value is replaced by the channel's learnt stand-in; an indicator is
// 1 where the sample is missing.
//
// Views its arguments, which must outlive it. Const methods are thread-safe.
class InputEncoding {
 public:
  // Scaled values are clamped to this magnitude on their way in: an encoder
  // that has seen little beyond it in training would make of a sample ten times
  // as large what it never learnt. Residuals are not clamped.
  static constexpr float kMaxInput = 5;

  InputEncoding(const data::ChannelSet& channels, const Scaler& scaler);

  int width() const { return width_; }  // I
  int stand_ins() const { return stand_ins_; }
  // The channels that are forecast: the continuous ones.
  const std::vector<int>& targets() const { return targets_; }
  // The channel with the largest sum over its columns of what `columns` holds.
  int LargestChannel(const float* columns) const;

  // samples[channels] -> columns[width]. `stand_in` is [stand_ins].
  void Encode(std::span<const float> samples, const float* stand_in,
              float* columns) const;

  // Adds noise of `level`, in scaled units, to the values of continuous
  // channels that are there.
  void Perturb(double level, Random& random, float* columns) const;

  // Given the encoded columns and their gradients, adds to dstand_in.
  void AddGradients(const float* columns, const float* dcolumns,
                    float* dstand_in) const;

  // What forecasts are changes from, for each target: its scaled sample now, or
  // what stands in for a missing one. `columns` is the instant encoded, maybe
  // perturbed.
  void Anchor(std::span<const float> samples, const float* columns,
              std::span<float> anchors) const;
  // Turns changes, `forecast`[horizons * T], into what is forecast.
  void AddAnchor(std::span<const float> samples, const float* columns,
                 std::span<float> forecast) const;

  // samples[channels] -> scaled[targets], NaN where missing.
  void ScaleTargets(std::span<const float> samples,
                    std::span<float> scaled) const;

 private:
  struct Column {
    int first = 0;      // of the channel's columns
    int indicator = 0;  // its missing-indicator
    int stand_in = -1;  // -1: none
  };

  const data::ChannelSet& channels_;
  const Scaler& scaler_;
  std::vector<Column> columns_;  // [channels]
  std::vector<int> targets_;
  int width_ = 0;
  int stand_ins_ = 0;
};

}  // namespace telltale::model
