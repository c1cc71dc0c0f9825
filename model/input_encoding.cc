#include "model/input_encoding.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace telltale::model {

InputEncoding::InputEncoding(const data::ChannelSet& channels,
                             const Scaler& scaler)
    : channels_(channels), scaler_(scaler) {
  for (int c = 0; c < channels.size(); ++c) {
    const data::Channel& channel = channels[c];
    Column column{.first = width_};
    if (channel.kind == data::ChannelKind::kDiscrete) {
      width_ += static_cast<int>(channel.vocabulary.size());
    } else {
      column.stand_in = stand_ins_++;
      ++width_;
    }
    column.indicator = width_++;
    columns_.push_back(column);
    if (channel.kind == data::ChannelKind::kContinuous) targets_.push_back(c);
  }
}

int InputEncoding::LargestChannel(const float* columns) const {
  int largest = 0;
  float most = -1;
  for (size_t c = 0; c < columns_.size(); ++c) {
    const float sum = std::accumulate(
        columns + columns_[c].first, columns + columns_[c].indicator + 1, 0.0F);
    if (sum <= most) continue;
    most = sum;
    largest = static_cast<int>(c);
  }
  return largest;
}

void InputEncoding::Encode(std::span<const float> samples,
                           const float* stand_in, float* columns) const {
  std::fill_n(columns, width_, 0.0F);
  for (int c = 0; c < channels_.size(); ++c) {
    const Column& column = columns_[static_cast<size_t>(c)];
    const float x = samples[static_cast<size_t>(c)];
    if (std::isnan(x)) {
      columns[column.indicator] = 1;
      if (column.stand_in >= 0) {
        columns[column.first] = stand_in[column.stand_in];
      }
    } else if (column.stand_in >= 0) {
      columns[column.first] =
          std::clamp(scaler_.Apply(c, x), -kMaxInput, kMaxInput);
    } else {
      const auto& vocabulary = channels_[c].vocabulary;
      const auto symbol = std::ranges::find(vocabulary, x, &data::Symbol::code);
      if (symbol != vocabulary.end()) {
        columns[column.first + (symbol - vocabulary.begin())] = 1;
      }
    }
  }
}

void InputEncoding::Perturb(double level, Random& random,
                            float* columns) const {
  for (int target : targets_) {
    const Column& column = columns_[static_cast<size_t>(target)];
    if (columns[column.indicator] != 0) continue;
    columns[column.first] += static_cast<float>(level * random.Normal());
  }
}

void InputEncoding::AddGradients(const float* columns, const float* dcolumns,
                                 float* dstand_in) const {
  for (const Column& column : columns_) {
    if (column.stand_in >= 0 && columns[column.indicator] != 0) {
      dstand_in[column.stand_in] += dcolumns[column.first];
    }
  }
}

void InputEncoding::ScaleTargets(std::span<const float> samples,
                                 std::span<float> scaled) const {
  for (size_t i = 0; i < targets_.size(); ++i) {
    scaled[i] =
        scaler_.Apply(targets_[i], samples[static_cast<size_t>(targets_[i])]);
  }
}

void InputEncoding::Anchor(std::span<const float> samples, const float* columns,
                           std::span<float> anchors) const {
  for (size_t i = 0; i < targets_.size(); ++i) {
    const int channel = targets_[i];
    const float x =
        scaler_.Apply(channel, samples[static_cast<size_t>(channel)]);
    // Beyond the bounds of inputs the sample itself, so that forecasts follow
    // a channel to levels that training never saw.
    anchors[i] = std::abs(x) > kMaxInput
                     ? x
                     : columns[columns_[static_cast<size_t>(channel)].first];
  }
}

void InputEncoding::AddAnchor(std::span<const float> samples,
                              const float* columns,
                              std::span<float> forecast) const {
  std::vector<float> anchors(targets_.size());
  Anchor(samples, columns, anchors);
  for (size_t i = 0; i < forecast.size(); ++i) {
    forecast[i] += anchors[i % anchors.size()];
  }
}

}  // namespace telltale::model
