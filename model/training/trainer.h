#pragma once

#include <memory>
#include <span>
#include <vector>

#include "data/series.h"
#include "model/checkpoint/checkpoint.h"
#include "model/input_encoding.h"
#include "model/scoring/calibration.h"
#include "model/training/adamw.h"
#include "model/training/train.h"
#include "model/training/window_sampler.h"
#include "model/worker_pool.h"

namespace telltale::model {

// Fits a checkpoint's parameters: mini-batches of windows, their gradients
// computed one window a worker and added up in the order of the batch, so that
// the number of threads changes no bit.
class Trainer {
 public:
  // Views everything; `checkpoint` has channels, cadence, configuration,
  // scaler and parameters, of which the last is trained.
  Trainer(std::span<const data::Series> segments,
          const TrainingOptions& options, Checkpoint& checkpoint);
  ~Trainer();

  struct Outcome {
    int steps = 0;             // taken
    int best_step = 0;         // whose parameters were kept
    double loss = 0;           // running mean at the end
    double held_out_loss = 0;  // of the kept parameters
    double seconds = 0;
    bool stopped = false;  // by the caller
  };
  // kCancelled: stopped before the first parameters worth keeping.
  // kInvalidArgument: no held-out loss was finite.
  absl::StatusOr<Outcome> Run(std::span<const Range> training,
                              std::span<const Range> held_out, int steps,
                              const ProgressFunction& progress);

  // The residuals of instants [begin, end) of a segment, as a stream that
  // starts there sees them.
  Matrix Residuals(const Range& range);

 private:
  struct Worker;  // a thread's context, encoder and activations

  double TrainingStep(std::span<const Range> training, int step, int steps);
  double HeldOutLoss(std::span<const Range> windows);
  // The summed squared error of one window and its count; with `gradients`,
  // adds to them those of the sum times `scale`.
  struct Loss {
    double sum = 0;
    int64_t count = 0;
  };
  Loss Evaluate(Worker& worker, const Range& range, Random* random,
                double scale, Parameters* gradients);
  std::span<const data::Series> segments_;
  const TrainingOptions& options_;
  Checkpoint& checkpoint_;
  InputEncoding encoding_;
  WindowSampler sampler_;
  int window_length_ = 0;
  Parameters gradients_;
  std::vector<Parameters> window_gradients_;  // [batch]
  AdamW optimiser_;
  std::vector<std::unique_ptr<Worker>> workers_;  // [threads]
  WorkerPool pool_;
};

}  // namespace telltale::model
