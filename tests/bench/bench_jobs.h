#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"

#include "model/ops/precision.h"
#include "tests/bench/bench_models.h"

namespace telltale::bench {

// Something to be measured: does it so many times. It owns what it needs and
// views the model and the library that it was made of, which must outlive it.
using Job = std::function<absl::Status(int count)>;

// Our encoder over a batch of whole windows, one by one. REQUIRES, here and
// below: model::IsSupported(precision).
Job ForwardJob(const BenchModel& model, int batch, model::Precision precision);

// The next `rows` instants of each of `streams` streams, whose caches are full.
Job AdvanceJob(const BenchModel& model, int streams, int rows,
               model::Precision precision);

// Steps of training the checkpoint at `path` on simulated telemetry, with the
// usual options.
absl::StatusOr<Job> TrainJob(const std::string& path);

// A product of square matrices of `size` by oneDNN.
Job MultiplyJob(int size, model::Precision precision);

// Reading so many MiB of memory once.
Job ReadJob(int mebibytes);

}  // namespace telltale::bench
