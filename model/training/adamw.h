#pragma once

#include <cstdint>

#include "model/parameters.h"

namespace telltale::model {

// The learning rate at `step` of `steps`: a linear warm-up, then a cosine down
// to zero (Loshchilov & Hutter 2017).
double LearningRate(double peak, int step, int warm_up, int steps);

// Scales the gradients so that their norm is at most `limit`; returns the norm
// that they had. Not finite: they are set to zero, and the step is lost.
double ClipNorm(Parameters& gradients, double limit);

// AdamW (Loshchilov & Hutter 2019) with betas .9 and .98. Decay applies to the
// tensors that say so.
class AdamW {
 public:
  // Moments of the same layout as `parameters`.
  AdamW(const EncoderConfig& config, int stand_ins, double weight_decay);

  void Step(double learning_rate, const Parameters& gradients,
            Parameters& parameters);

 private:
  const double weight_decay_;
  int64_t step_ = 0;
  Parameters first_;  // moments
  Parameters second_;
};

}  // namespace telltale::model
