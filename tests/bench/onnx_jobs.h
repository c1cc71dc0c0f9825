#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "tests/bench/bench_jobs.h"
#include "tests/bench/bench_models.h"
#include "tests/bench/onnx_runtime.h"

namespace telltale::bench {

// A batch of whole windows at once, by the graph of EncoderToOnnx in `file`.
absl::StatusOr<Job> OnnxJob(const OnnxRuntime& runtime, const BenchModel& model,
                            const std::string& file, int batch);

// The next instant of each of `streams` streams, by the graph of
// EncoderStepToOnnx in `file`.
absl::StatusOr<Job> OnnxStepJob(const OnnxRuntime& runtime,
                                const BenchModel& model,
                                const std::string& file, int streams);

// The largest difference between the forecasts of such graphs and those of our
// encoder, over that of 1 and our largest forecast.
absl::StatusOr<double> OnnxError(const OnnxRuntime& runtime,
                                 const BenchModel& model,
                                 const std::string& file);
absl::StatusOr<double> OnnxStepError(const OnnxRuntime& runtime,
                                     const BenchModel& model,
                                     const std::string& file);

}  // namespace telltale::bench
