#include "tests/bench/onnx_jobs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "model/encoder.h"
#include "model/layers/rotary.h"

namespace telltale::bench {
namespace {

using model::EncoderConfig;
using model::Matrix;

struct OnnxWindows {
  Matrix x, forecast;
  std::unique_ptr<OnnxRuntime::Session> session;
  OnnxRuntime::Session::Binding binding;
};

absl::StatusOr<std::shared_ptr<OnnxWindows>> OpenWindows(
    const OnnxRuntime& runtime, const BenchModel& model,
    const std::string& file, int batch) {
  auto session = OnnxRuntime::Session::Open(runtime, file);
  if (!session.ok()) return session.status();
  auto windows = std::make_shared<OnnxWindows>();
  const int64_t rows = int64_t{batch} * model.length;
  const int64_t columns = model.config.input_width;
  const int64_t outputs = model.config.output_width();
  windows->session = *std::move(session);
  windows->x = NormalMatrix(rows, columns, 4);
  windows->forecast.Resize(rows, outputs);
  auto binding = windows->session->Bind(
      {{"input", windows->x.floats(), {batch, model.length, columns}}},
      {{"forecast",
        windows->forecast.floats(),
        {batch, model.length, outputs}}});
  if (!binding.ok()) return binding.status();
  windows->binding = *std::move(binding);
  return windows;
}

// Streams that a graph advances an instant at a time. Keys and values go back
// and forth between two sets of buffers.
class OnnxStreams {
 public:
  static absl::StatusOr<std::shared_ptr<OnnxStreams>> Open(
      const OnnxRuntime& runtime, const BenchModel& model,
      const std::string& file, int streams);

  // x[streams, I] -> forecast().
  absl::Status Step(const model::ConstMatrixView& x);
  const Matrix& forecast() const { return forecast_; }
  // Sets streams so many instants apart; at first they are at the same one.
  void Spread(int64_t instants) { spread_ = instants; }

 private:
  OnnxStreams(const EncoderConfig& config, int streams);

  std::vector<OnnxTensor> Caches(int set, const char* prefix);

  const EncoderConfig& config_;
  const int64_t streams_;
  Matrix taps_, cosine_, sine_, forecast_;
  std::array<std::vector<Matrix>, 2> keys_, values_;  // [layers]
  std::unique_ptr<OnnxRuntime::Session> session_;
  std::array<OnnxRuntime::Session::Binding, 2> bindings_;
  model::RotaryAngles angles_;
  int64_t next_ = 0;
  int64_t spread_ = 0;
};

OnnxStreams::OnnxStreams(const EncoderConfig& config, int streams)
    : config_(config),
      streams_(streams),
      taps_(streams, config.tap_columns()),
      cosine_(streams, config.query_width / 2),
      sine_(streams, config.query_width / 2),
      forecast_(streams, config.output_width()) {
  for (int set = 0; set < 2; ++set) {
    for (const model::LayerConfig& layer : config.layers) {
      const int64_t rows = streams_ * config.heads * (layer.reach - 1);
      keys_[set].emplace_back(rows, config.query_width);
      values_[set].emplace_back(rows, config.value_width);
    }
  }
}

std::vector<OnnxTensor> OnnxStreams::Caches(int set, const char* prefix) {
  std::vector<OnnxTensor> tensors;
  for (size_t n = 0; n < config_.layers.size(); ++n) {
    const std::string name = absl::StrCat("layer.", n, ".", prefix);
    const int64_t past = config_.layers[n].reach - 1;
    tensors.push_back({name + "key",
                       keys_[set][n].floats(),
                       {streams_, config_.heads, past, config_.query_width}});
    tensors.push_back({name + "value",
                       values_[set][n].floats(),
                       {streams_, config_.heads, past, config_.value_width}});
  }
  return tensors;
}

absl::StatusOr<std::shared_ptr<OnnxStreams>> OnnxStreams::Open(
    const OnnxRuntime& runtime, const BenchModel& model,
    const std::string& file, int streams) {
  auto session = OnnxRuntime::Session::Open(runtime, file);
  if (!session.ok()) return session.status();
  std::shared_ptr<OnnxStreams> opened(new OnnxStreams(model.config, streams));
  OnnxStreams& s = *opened;
  s.session_ = *std::move(session);
  const int64_t half = model.config.query_width / 2;
  for (int set = 0; set < 2; ++set) {
    std::vector<OnnxTensor> inputs = s.Caches(set, "past_");
    inputs.push_back(
        {"input", s.taps_.floats(), {s.streams_, s.taps_.columns()}});
    if (model.config.rotary) {
      inputs.push_back(
          {"cosine", s.cosine_.floats(), {s.streams_, 1, 1, half}});
      inputs.push_back({"sine", s.sine_.floats(), {s.streams_, 1, 1, half}});
    }
    std::vector<OnnxTensor> outputs = s.Caches(1 - set, "");
    outputs.push_back({"forecast",
                       s.forecast_.floats(),
                       {s.streams_, s.forecast_.columns()}});
    auto binding = s.session_->Bind(inputs, outputs);
    if (!binding.ok()) return binding.status();
    s.bindings_[set] = *std::move(binding);
  }
  return opened;
}

absl::Status OnnxStreams::Step(const model::ConstMatrixView& x) {
  for (int64_t stream = 0; stream < streams_; ++stream) {
    if (stream == 0 || spread_ != 0) {
      const auto position = static_cast<double>(next_ + spread_ * stream);
      model::ComputeAngles(model::RotaryFrequencies(config_), {&position, 1},
                           angles_);
    }
    float* taps = taps_.Row(stream);
    const int64_t kept = taps_.columns() - x.columns;
    std::copy_n(taps + x.columns, kept, taps);
    std::copy_n(x.Row(stream), x.columns, taps + kept);
    std::ranges::copy(angles_.cosine.floats(), cosine_.Row(stream));
    std::ranges::copy(angles_.sine.floats(), sine_.Row(stream));
  }
  return session_->Run(bindings_[next_++ % 2]);
}

// Grows `error` to the largest difference, `largest` to the largest value.
void Compare(const float* found, std::span<const float> wanted, double& error,
             double& largest) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double difference = std::abs(double{wanted[i]} - found[i]);
    // Not a number is no agreement.
    if (!(difference <= error)) error = difference;
    largest = std::max(largest, double{std::abs(wanted[i])});
  }
}

std::vector<double> Regular(int64_t count) {
  std::vector<double> positions(static_cast<size_t>(count));
  std::iota(positions.begin(), positions.end(), 0.0);
  return positions;
}

}  // namespace

absl::StatusOr<Job> OnnxJob(const OnnxRuntime& runtime, const BenchModel& model,
                            const std::string& file, int batch) {
  auto windows = OpenWindows(runtime, model, file, batch);
  if (!windows.ok()) return windows.status();
  return [windows = *windows](int count) {
    absl::Status status;
    for (int i = 0; i < count && status.ok(); ++i) {
      status = windows->session->Run(windows->binding);
    }
    return status;
  };
}

absl::StatusOr<Job> OnnxStepJob(const OnnxRuntime& runtime,
                                const BenchModel& model,
                                const std::string& file, int streams) {
  auto opened = OnnxStreams::Open(runtime, model, file, streams);
  if (!opened.ok()) return opened.status();
  const auto x = std::make_shared<Matrix>(
      NormalMatrix(streams, model.config.input_width, 5));
  return [streams = *opened, x](int count) {
    absl::Status status;
    for (int i = 0; i < count && status.ok(); ++i) {
      status = streams->Step(x->view());
    }
    return status;
  };
}

absl::StatusOr<double> OnnxError(const OnnxRuntime& runtime,
                                 const BenchModel& model,
                                 const std::string& file) {
  constexpr int kBatch = 2;
  auto windows = OpenWindows(runtime, model, file, kBatch);
  if (!windows.ok()) return windows.status();
  OnnxWindows& theirs = **windows;
  absl::Status status = theirs.session->Run(theirs.binding);
  if (!status.ok()) return status;
  model::Context context;
  const model::Encoder encoder(model.config, model.parameters);
  model::EncoderActivations ours;
  double error = 0;
  double largest = 1;
  for (int64_t window = 0; window < kBatch; ++window) {
    const int64_t first = window * model.length;
    encoder.Forward(context, theirs.x.view().Rows(first, model.length),
                    Regular(model.length), ours);
    Compare(theirs.forecast.Row(first), ours.forecast.floats(), error, largest);
  }
  return error / largest;
}

absl::StatusOr<double> OnnxStepError(const OnnxRuntime& runtime,
                                     const BenchModel& model,
                                     const std::string& file) {
  constexpr int kCompared = 20;  // once the pasts are full
  constexpr int kStreams = 2;
  const EncoderConfig& config = model.config;
  const int64_t count = config.receptive_field() + kCompared;
  const int64_t columns = config.output_width();
  auto theirs = OnnxStreams::Open(runtime, model, file, kStreams);
  if (!theirs.ok()) return theirs.status();
  // Row t has the instants of all streams at t, side by side.
  const Matrix x =
      NormalMatrix(count, int64_t{kStreams} * config.input_width, 6);
  std::array<model::EncoderActivations, kStreams> ours;
  model::Context context;
  const model::Encoder encoder(config, model.parameters);
  for (int64_t stream = 0; stream < kStreams; ++stream) {
    Matrix series(count, config.input_width);
    for (int64_t t = 0; t < count; ++t) {
      std::copy_n(x.Row(t) + stream * config.input_width, config.input_width,
                  series.Row(t));
    }
    encoder.Forward(context, series.view(), Regular(count), ours[stream]);
  }
  (*theirs)->Spread(11);  // forecasts depend on distances alone
  double error = 0;
  double largest = 1;
  for (int64_t t = 0; t < count; ++t) {
    const model::ConstMatrixView instants = {.data = x.Row(t),
                                             .rows = kStreams,
                                             .columns = config.input_width,
                                             .row_stride = config.input_width};
    absl::Status status = (*theirs)->Step(instants);
    if (!status.ok()) return status;
    if (t < count - kCompared) continue;
    for (int64_t stream = 0; stream < kStreams; ++stream) {
      Compare((*theirs)->forecast().Row(stream),
              {ours[stream].forecast.Row(t), static_cast<size_t>(columns)},
              error, largest);
    }
  }
  return error / largest;
}

}  // namespace telltale::bench
