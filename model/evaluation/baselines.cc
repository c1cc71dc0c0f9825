#include "model/evaluation/baselines.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

#include "model/evaluation/principal_components.h"
#include "model/random.h"

namespace telltale::model {
namespace {

constexpr int kFewestNominal = 100;
constexpr int kTrailing = 50;
constexpr int kPcaWindow = 8;
constexpr int kWidestPca = 256;
constexpr int kMostPcaRows = 20000;
constexpr double kHeldVariance = 0.95;
// What a wild sample may count in the squares of PCA.
constexpr double kClamp = 50;

// One channel in deviations from its nominal median, without holes.
using Trace = std::vector<double>;

struct Scaling {
  double median = 0;
  double deviation = 1;
};

double MedianOf(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::vector<double> ValidSamples(const data::Series& series, int channel) {
  std::vector<double> valid;
  for (int t = 0; t < series.length(); ++t) {
    const float x = series.Instant(t)[channel];
    if (!std::isnan(x)) valid.push_back(x);
  }
  return valid;
}

Scaling FitScaling(const data::Series& nominal, int channel) {
  std::vector<double> valid = ValidSamples(nominal, channel);
  if (valid.empty()) return {};
  Scaling scaling;
  scaling.median = MedianOf(valid);
  double squares = 0;
  for (double& x : valid) {
    x = std::abs(x - scaling.median);
    squares += x * x / static_cast<double>(valid.size());
  }
  scaling.deviation =
      std::max({1.4826 * MedianOf(valid), 0.1 * std::sqrt(squares),
                1e-6 * std::max(std::abs(scaling.median), 1.)});
  return scaling;
}

Trace TraceOf(const data::Series& series, int channel, const Scaling& scaling) {
  Trace trace(static_cast<size_t>(series.length()));
  double last = 0;
  for (int t = 0; t < series.length(); ++t) {
    const float x = series.Instant(t)[channel];
    if (!std::isnan(x)) last = (x - scaling.median) / scaling.deviation;
    trace[t] = last;
  }
  return trace;
}

Trace Magnitudes(Trace trace) {
  for (double& z : trace) z = std::abs(z);
  return trace;
}

Trace Steps(const Trace& trace) {
  Trace steps(trace.size(), 0.0);
  for (size_t t = 1; t < trace.size(); ++t) {
    steps[t] = std::abs(trace[t] - trace[t - 1]);
  }
  return steps;
}

// Of the last kTrailing instants, or as many as there are.
Trace TrailingMean(const Trace& trace) {
  Trace means(trace.size());
  for (size_t t = 0; t < trace.size(); ++t) {
    const size_t begin = t + 1 >= kTrailing ? t + 1 - kTrailing : 0;
    // Summed afresh: a running sum would carry the rounding of a spike along.
    double sum = 0;
    for (size_t i = begin; i <= t; ++i) sum += trace[i];
    means[t] = sum / static_cast<double>(t + 1 - begin);
  }
  return means;
}

double MeanOf(const Trace& trace) {
  double mean = 0;
  for (double value : trace) mean += value / static_cast<double>(trace.size());
  return mean;
}

// The largest over channels of a trailing mean over its nominal mean.
template <typename Function>
Baseline TrailingBaseline(std::string name, const std::vector<Trace>& nominal,
                          const std::vector<Trace>& traces,
                          const Function& quantity) {
  Baseline baseline{std::move(name), std::vector<float>(traces[0].size())};
  for (size_t c = 0; c < traces.size(); ++c) {
    const double typical = std::max(MeanOf(quantity(nominal[c])), 1e-6);
    const Trace means = TrailingMean(quantity(traces[c]));
    for (size_t t = 0; t < means.size(); ++t) {
      baseline.scores[t] =
          std::max(baseline.scores[t], static_cast<float>(means[t] / typical));
    }
  }
  return baseline;
}

// Files do not tell all kinds, and a recording may take a channel that happens
// to be binary in it for a command: kinds need not agree.
bool HaveSameNames(const data::ChannelSet& a, const data::ChannelSet& b) {
  return std::ranges::equal(a.channels(), b.channels(), std::equal_to<>(),
                            &data::Channel::name, &data::Channel::name);
}

bool IsContinuous(const data::Series& series, int channel) {
  return series.channels[channel].kind == data::ChannelKind::kContinuous;
}

Baseline RobustZ(const std::vector<Trace>& traces) {
  Baseline baseline{"robust z", std::vector<float>(traces[0].size())};
  for (const Trace& trace : traces) {
    for (size_t t = 0; t < trace.size(); ++t) {
      baseline.scores[t] =
          std::max(baseline.scores[t], static_cast<float>(std::abs(trace[t])));
    }
  }
  return baseline;
}

// The last `window` instants of all channels as one row; before the start the
// first instant repeats.
void FillRow(const std::vector<Trace>& traces, int window, int t,
             std::span<double> row) {
  size_t i = 0;
  for (const Trace& trace : traces) {
    for (int back = 0; back < window; ++back) {
      row[i++] = std::clamp(trace[std::max(t - back, 0)], -kClamp, kClamp);
    }
  }
}

Baseline Pca(const std::vector<Trace>& nominal,
             const std::vector<Trace>& traces) {
  const int channels = static_cast<int>(traces.size());
  const int window = std::min(kPcaWindow, kWidestPca / channels);
  const int width = channels * window;
  const int nominal_length = static_cast<int>(nominal[0].size());
  const int stride = 1 + nominal_length / kMostPcaRows;
  std::vector<double> rows;
  std::vector<double> row(static_cast<size_t>(width));
  for (int t = window - 1; t < nominal_length; t += stride) {
    FillRow(nominal, window, t, row);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  const PrincipalComponents components(rows, width, kHeldVariance);

  Baseline baseline{"PCA", std::vector<float>(traces[0].size())};
  for (size_t t = 0; t < traces[0].size(); ++t) {
    FillRow(traces, window, static_cast<int>(t), row);
    baseline.scores[t] = static_cast<float>(components.Residual(row) / width);
  }
  return baseline;
}

}  // namespace

Baseline RandomBaseline(int length, uint64_t seed) {
  Random random(seed);
  Baseline baseline{"random", std::vector<float>(static_cast<size_t>(length))};
  for (float& score : baseline.scores) {
    score = static_cast<float>(random.Uniform());
  }
  return baseline;
}

absl::StatusOr<std::vector<Baseline>> TrivialBaselines(
    const data::Series& nominal, const data::Series& series) {
  if (!HaveSameNames(nominal.channels, series.channels)) {
    return absl::InvalidArgumentError(
        "the nominal telemetry and the telemetry to score have different "
        "channels");
  }
  if (nominal.length() < kFewestNominal || series.length() == 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%d nominal instants; baselines need at least %d to be fitted",
        nominal.length(), kFewestNominal));
  }
  std::vector<Trace> nominal_traces;
  std::vector<Trace> traces;
  for (int c = 0; c < series.channels.size(); ++c) {
    if (!IsContinuous(nominal, c) && !IsContinuous(series, c)) continue;
    const Scaling scaling = FitScaling(nominal, c);
    nominal_traces.push_back(TraceOf(nominal, c, scaling));
    traces.push_back(TraceOf(series, c, scaling));
  }
  if (traces.empty()) {
    return absl::InvalidArgumentError("no channel is continuous");
  }
  std::vector<Baseline> baselines = {
      RobustZ(traces),
      TrailingBaseline("mean 50 of |dx|", nominal_traces, traces, Steps),
      TrailingBaseline("mean 50 of |x - m|", nominal_traces, traces,
                       Magnitudes)};
  if (traces.size() <= kWidestPca) {
    baselines.push_back(Pca(nominal_traces, traces));
  }
  return baselines;
}

}  // namespace telltale::model
