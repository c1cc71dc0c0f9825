#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "absl/status/statusor.h"

#include "data/series.h"
#include "model/checkpoint/checkpoint.h"
#include "model/encoder_config.h"
#include "model/scoring/calibration.h"
#include "model/training/fault_labels.h"

namespace telltale::model {

// Every setting of training. The defaults are meant to serve as they are.
struct TrainingOptions {
  uint64_t seed = 1;
  int threads = 0;  // 0: one for each processor; results do not depend on it
  // 0: by the amount of data, 600 to 4,000; more where windows are short.
  int steps = 0;
  int batch = 8;   // windows a step
  int window = 0;  // instants a window; 0: twice the context
  double learning_rate = 4e-3;
  int warm_up_steps = 50;
  double weight_decay = 0.3;
  double clip_norm = 1;
  // Added to training inputs, in scaled units; less where there are many.
  double input_noise = 0.2;
  // The last part of each segment, or this share of many short ones, held out
  // for early stopping, calibration and threshold.
  double held_out = 0.25;
  double false_alarms_per_10k = 5;
  EvidenceParts evidence;
  // Architecture; input_width and targets are set from the channels.
  EncoderConfig encoder;
};

struct TrainingProgress {
  int step = 0;
  int steps = 0;
  double loss = 0;           // running mean, scaled units squared
  double held_out_loss = 0;  // best so far; NaN before the first
  double instants_per_second = 0;
  double seconds_left = 0;
};

// Called now and then; false asks training to stop and to keep the best
// parameters so far.
using ProgressFunction = std::function<bool(const TrainingProgress&)>;

// Trains, calibrates and sets the threshold. Segments are separate runs of the
// same channels; context never crosses from one to the next, and where they are
// many and short (division.h), whole ones are held out, and the context reaches
// as far as they do, 512 instants at most, unless the options' layers are not
// the default ones. The same segments, options and instruction set give the
// same bits.
//
// kInvalidArgument: a setting out of range; segments with other channels, too
// short, without a continuous channel; a held-out loss that is never finite.
// kCancelled: stopped before there was anything to keep.
absl::StatusOr<Checkpoint> Train(std::span<const data::Series> segments,
                                 const TrainingOptions& options,
                                 const ProgressFunction& progress);

// The same, and with labels a verdict is trained beside the forecasts: the
// probability that an instant belongs to a fault like the labelled ones, at
// equal odds before the evidence. Every instant outside of them is taken for
// nominal. Forecasts, tails and the score's threshold are learnt from nominal
// instants alone; the verdict's threshold is chosen on the held-out labels, and
// is one half where there are none. kInvalidArgument also: every label lies in
// what is held out.
absl::StatusOr<Checkpoint> Train(std::span<const data::Series> segments,
                                 const FaultLabels& labels,
                                 const TrainingOptions& options,
                                 const ProgressFunction& progress);

}  // namespace telltale::model
