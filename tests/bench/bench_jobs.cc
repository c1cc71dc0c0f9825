#include "tests/bench/bench_jobs.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "data/simulator/simulate.h"
#include "model/kv_cache.h"
#include "model/ops/context.h"
#include "model/ops/operand.h"
#include "model/ops/packed_linear.h"
#include "model/stream_encoder.h"
#include "model/training/trainer.h"

namespace telltale::bench {
namespace {

using model::Matrix;

// What a series of whole windows needs.
struct Windows {
  Windows(const BenchModel& model, int count, model::Precision precision)
      : encoder(context, model.config, model.parameters, precision),
        cache(model.config, 0),
        length(model.length),
        batch(count),
        x(NormalMatrix(int64_t{count} * length, model.config.input_width, 4)),
        positions(static_cast<size_t>(length)),
        forecast(length, model.config.output_width()) {
    std::iota(positions.begin(), positions.end(), 0.0);
  }

  void Forward(int64_t window) {
    cache.Clear(0);
    for (int64_t t = 0; t < length; t += model::kTileRows) {
      const int64_t n = std::min<int64_t>(model::kTileRows, length - t);
      model::StreamRows rows = {
          .cache = &cache,
          .x = x.view().Rows(window * length + t, n),
          .positions = std::span(positions).subspan(static_cast<size_t>(t),
                                                    static_cast<size_t>(n)),
          .forecast = forecast.view().Rows(t, n)};
      encoder.Advance({&rows, 1});
    }
  }

  model::Context context;
  model::StreamEncoder encoder;
  model::KvCache cache;
  const int64_t length;
  const int batch;
  const Matrix x;
  std::vector<double> positions;
  Matrix forecast;
};

// Streams that are advanced together.
struct Streams {
  Streams(const BenchModel& model, int count, int row_count,
          model::Precision precision)
      : encoder(context, model.config, model.parameters, precision),
        x(NormalMatrix(row_count, model.config.input_width, 5)),
        positions(static_cast<size_t>(row_count)),
        forecasts(static_cast<size_t>(count)) {
    for (Matrix& forecast : forecasts) {
      forecast.Resize(row_count, model.config.output_width());
      caches.push_back(std::make_unique<model::KvCache>(model.config, 0));
      rows.push_back({.cache = caches.back().get(),
                      .x = x.view(),
                      .positions = positions,
                      .forecast = forecast.view()});
    }
  }

  void Advance() {
    std::iota(positions.begin(), positions.end(), static_cast<double>(next));
    encoder.Advance(rows);
    next += static_cast<int64_t>(positions.size());
  }

  model::Context context;
  model::StreamEncoder encoder;
  const Matrix x;
  std::vector<double> positions;
  std::vector<Matrix> forecasts;
  std::vector<std::unique_ptr<model::KvCache>> caches;
  std::vector<model::StreamRows> rows;
  int64_t next = 0;
};

struct Training {
  static constexpr int kInstants = 20'000;
  // Steps of one run: fewer than training evaluates in before it gives up,
  // because nothing is held out here.
  static constexpr int kSteps = 8;

  explicit Training(model::Checkpoint start)
      : checkpoint(std::move(start)),
        series(data::Simulate({.seed = 6, .steps = kInstants}).series) {
    options.threads = 1;
    options.encoder = checkpoint.config;
  }

  model::Checkpoint checkpoint;
  const data::Series series;
  const model::FaultLabels no_labels;
  model::TrainingOptions options;
  std::unique_ptr<model::Trainer> trainer;
};

// Sums side by side, so that no addition waits for the one before.
uint64_t Sum(std::span<const uint64_t> words) {
  constexpr size_t kLanes = 64;
  std::array<uint64_t, kLanes> sums = {};
  for (size_t k = 0; k + kLanes <= words.size(); k += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += words[k + lane];
  }
  return std::accumulate(sums.begin(), sums.end(), uint64_t{0});
}

}  // namespace

Job ForwardJob(const BenchModel& model, int batch, model::Precision precision) {
  auto windows = std::make_shared<Windows>(model, batch, precision);
  return [windows](int count) {
    for (int i = 0; i < count; ++i) {
      for (int window = 0; window < windows->batch; ++window) {
        windows->Forward(window);
      }
    }
    return absl::OkStatus();
  };
}

Job AdvanceJob(const BenchModel& model, int streams, int rows,
               model::Precision precision) {
  auto state = std::make_shared<Streams>(model, streams, rows, precision);
  while (state->next < model.config.receptive_field()) state->Advance();
  return [state](int count) {
    for (int i = 0; i < count; ++i) state->Advance();
    return absl::OkStatus();
  };
}

absl::StatusOr<Job> TrainJob(const std::string& path) {
  auto checkpoint = model::Checkpoint::Load(path);
  if (!checkpoint.ok()) return checkpoint.status();
  auto training = std::make_shared<Training>(*std::move(checkpoint));
  if (training->checkpoint.channels != training->series.channels ||
      training->checkpoint.config.verdict) {
    return absl::FailedPreconditionError(
        "training is measured on a model of the simulated engine's channels "
        "without a verdict");
  }
  training->trainer = std::make_unique<model::Trainer>(
      std::span(&training->series, 1), training->no_labels, training->options,
      training->checkpoint);
  return [training](int count) {
    const model::Range all = {0, 0, Training::kInstants};
    while (count > 0) {
      const int steps = std::min(count, Training::kSteps);
      // Its outcome is that nothing was held out, which is as wanted.
      (void)training->trainer->Run({&all, 1}, {}, steps, nullptr);
      count -= steps;
    }
    return absl::OkStatus();
  };
}

Job MultiplyJob(int size, model::Precision precision) {
  struct Product {
    Product(int size, model::Precision precision)
        : a(NormalMatrix(size, size, 7)),
          b(NormalMatrix(size, size, 8)),
          c(size, size),
          layer{b.data(), nullptr, size, size},
          times_b(context, {&layer, 1}, precision),
          operand(precision) {
      operand.Assign(a.view());
    }
    model::Context context;
    Matrix a, b, c;
    model::LinearParameters layer;
    model::PackedLinear times_b;
    model::Operand operand;
  };
  auto product = std::make_shared<Product>(size, precision);
  return [product](int count) {
    for (int i = 0; i < count; ++i) {
      product->times_b.Run(product->operand, product->c.view());
    }
    return absl::OkStatus();
  };
}

Job ReadJob(int mebibytes) {
  auto words = std::make_shared<std::vector<uint64_t>>(
      static_cast<size_t>(mebibytes) << 17, 1);
  return [words](int count) -> absl::Status {
    for (int i = 0; i < count; ++i) {
      // Also keeps the compiler from leaving the reading out.
      if (Sum(*words) != words->size()) {
        return absl::InternalError("memory does not hold what was written");
      }
    }
    return absl::OkStatus();
  };
}

}  // namespace telltale::bench
