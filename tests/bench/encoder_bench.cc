#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "benchmark/benchmark.h"

#include "model/encoder.h"
#include "model/stream_encoder.h"
#include "tests/support/encoder_cases.h"

// How fast the shipped encoder is on one thread. Items are instants.

namespace telltale::model {
namespace {

// A model and a series of `count` instants.
struct Bench {
  explicit Bench(int64_t count)
      : config(ShippedConfig()),
        parameters(RandomParameters(config, 1)),
        encoder(config, parameters),
        stream_encoder(context, config, parameters),
        x(RandomMatrix(count, config.input_width, 2)),
        positions(Positions(count, /*irregular=*/false)) {}

  Context context;
  const EncoderConfig config;
  const Parameters parameters;
  Encoder encoder;
  StreamEncoder stream_encoder;
  const Matrix x;
  const std::vector<double> positions;
  EncoderActivations activations;
};

void BM_Forward(benchmark::State& state) {
  Bench bench(state.range(0));
  for (auto _ : state) {
    bench.encoder.Forward(bench.context, bench.x.view(), bench.positions,
                          bench.activations);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Forward)->ArgName("instants")->Arg(512)->Arg(2048);

void BM_Backward(benchmark::State& state) {
  Bench bench(state.range(0));
  Parameters gradients(bench.config, 0);
  const Matrix dforecast =
      RandomMatrix(state.range(0), bench.config.forecast_width(), 3);
  Matrix dx(state.range(0), bench.config.input_width);
  bench.encoder.Forward(bench.context, bench.x.view(), bench.positions,
                        bench.activations);
  for (auto _ : state) {
    bench.encoder.Backward(bench.context, bench.activations, dforecast.view(),
                           gradients, dx.view());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Backward)->ArgName("instants")->Arg(512)->Arg(2048);

// One call over the next `rows` instants of each of `streams` streams, whose
// caches are full.
void BM_Advance(benchmark::State& state) {
  const int64_t row_count = state.range(0);
  const auto stream_count = static_cast<size_t>(state.range(1));
  Bench bench(kTileRows);
  std::vector<std::unique_ptr<KvCache>> caches;
  std::vector<std::vector<double>> positions(stream_count);
  std::vector<Matrix> forecasts(stream_count);
  int64_t next = 0;
  const auto advance = [&] {
    std::vector<StreamRows> streams(stream_count);
    for (size_t i = 0; i < stream_count; ++i) {
      positions[i] = Positions(row_count, false, static_cast<double>(next));
      streams[i] = {.cache = caches[i].get(),
                    .x = bench.x.view().Rows(0, row_count),
                    .positions = positions[i],
                    .forecast = forecasts[i].view()};
    }
    bench.stream_encoder.Advance(streams);
    next += row_count;
  };
  for (Matrix& forecast : forecasts) {
    forecast.Resize(row_count, bench.config.forecast_width());
    caches.push_back(std::make_unique<KvCache>(bench.config, 0));
  }
  while (next < bench.config.receptive_field()) advance();
  for (auto _ : state) advance();
  state.SetItemsProcessed(state.iterations() * row_count *
                          static_cast<int64_t>(stream_count));
}
BENCHMARK(BM_Advance)
    ->ArgNames({"rows", "streams"})
    ->ArgsProduct({{1, 16}, {1, 16, 64}});

// Looking back from one alarm.
void BM_Explain(benchmark::State& state) {
  Bench bench(kTileRows);
  KvCache cache(bench.config, 0);
  Matrix forecast(kTileRows, bench.config.forecast_width());
  std::vector<double> positions;
  while (cache.end_index() < bench.config.receptive_field()) {
    positions =
        Positions(kTileRows, false, static_cast<double>(cache.end_index()));
    StreamRows rows = {.cache = &cache,
                       .x = bench.x.view(),
                       .positions = positions,
                       .forecast = forecast.view()};
    bench.stream_encoder.Advance({&rows, 1});
  }
  std::vector<float> readout;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        bench.stream_encoder.Explain(cache, cache.end_index() - 1, 0, readout));
  }
}
BENCHMARK(BM_Explain);

}  // namespace
}  // namespace telltale::model

BENCHMARK_MAIN();
