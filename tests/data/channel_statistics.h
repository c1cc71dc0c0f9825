#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "data/series.h"
#include "data/simulator/disturbance.h"
#include "data/simulator/engine_channels.h"

namespace telltale::data {

// Samples of one channel over instants [begin, end).
inline std::vector<double> Extract(const Series& series, EngineChannel channel,
                                   int64_t begin, int64_t end) {
  std::vector<double> samples;
  for (int64_t t = begin; t < end; ++t) {
    samples.push_back(series.Instant(static_cast<int>(t))[channel]);
  }
  return samples;
}

inline double Mean(const std::vector<double>& samples) {
  double sum = 0;
  for (const double sample : samples) sum += sample;
  return sum / static_cast<double>(samples.size());
}

inline double Deviation(const std::vector<double>& samples) {
  const double mean = Mean(samples);
  double sum = 0;
  for (const double sample : samples) sum += (sample - mean) * (sample - mean);
  return std::sqrt(sum / static_cast<double>(samples.size()));
}

// How far the channel's mean over the middle of the interval lies above its
// mean over the instants before.
inline double Rise(const Series& series, EngineChannel channel,
                   const Interval& interval) {
  const int64_t length = interval.end - interval.begin + 1;
  return Mean(Extract(series, channel, interval.begin + length / 3,
                      interval.end + 1 - length / 4)) -
         Mean(Extract(series, channel, interval.begin - 8, interval.begin));
}

}  // namespace telltale::data
