#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/series.h"
#include "model/checkpoint/checkpoint.h"
#include "model/input_encoding.h"
#include "model/scoring/residual_fit.h"
#include "model/training/adamw.h"
#include "model/training/fault_labels.h"
#include "model/training/train.h"
#include "model/training/verdict_sampling.h"
#include "model/training/window_sampler.h"
#include "model/worker_pool.h"

namespace telltale::model {

// Fits a checkpoint's parameters: mini-batches of windows, their gradients
// computed one window a worker and added up in the order of the batch, so that
// the number of threads changes no bit.
//
// The loss is the mean squared error of the forecasts and, where there are
// labels, the mean cross-entropy of the verdict with its classes in balance
// (verdict_sampling.h).
class Trainer {
 public:
  // Views everything; `checkpoint` has channels, cadence, configuration,
  // scaler and parameters, of which the last is trained. REQUIRES: the
  // configuration has a verdict if there are labels, and only then.
  Trainer(std::span<const data::Series> segments, const FaultLabels& labels,
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
  // starts there sees them; `logits`, when wanted, receives each instant's
  // verdict. REQUIRES: a verdict in the configuration, if they are wanted.
  SegmentResiduals Residuals(const Range& range,
                             std::vector<float>* logits = nullptr);

 private:
  struct Worker;  // a thread's context, encoder and activations

  double TrainingStep(int step, int steps);
  double HeldOutLoss(std::span<const Range> windows);
  // The summed squared error of windows and its count; the summed cross-entropy
  // of their verdicts and the number of those.
  struct Loss {
    double sum = 0;
    int64_t count = 0;
    double verdict_sum = 0;
    int64_t verdict_count = 0;

    void Add(const Loss& other);
    double Mean() const;
  };
  // The loss of one window; with `gradients`, adds to them those of the step's
  // mean loss.
  Loss Evaluate(Worker& worker, const Range& range, Random* random,
                Parameters* gradients);
  // These leave the loss's derivatives in worker.dforecast.
  void JudgeForecasts(Worker& worker, Loss& loss) const;
  void JudgeVerdicts(Worker& worker, Loss& loss) const;

  std::span<const data::Series> segments_;
  const FaultLabels& labels_;
  const TrainingOptions& options_;
  Checkpoint& checkpoint_;
  InputEncoding encoding_;
  WindowSampler sampler_;
  int window_length_ = 0;
  std::optional<VerdictSampling> sampling_;  // once Run has begun
  Parameters gradients_;
  std::vector<Parameters> window_gradients_;  // [batch]
  AdamW optimiser_;
  std::vector<std::unique_ptr<Worker>> workers_;  // [threads]
  WorkerPool pool_;
};

}  // namespace telltale::model
