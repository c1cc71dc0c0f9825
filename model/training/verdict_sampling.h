#pragma once

#include <span>
#include <vector>

#include "model/random.h"
#include "model/training/fault_labels.h"
#include "model/training/range.h"
#include "model/training/window_sampler.h"

namespace telltale::model {

// How training meets labelled faults, which are rare: at least one window in
// four is drawn so that it shows one, and the instants of faults weigh as much
// in sum as all others. Without labels every window is drawn alike and nothing
// has a weight. Const methods are thread-safe.
class VerdictSampling {
 public:
  // The share of windows that show a fault, at least.
  static constexpr double kFaultWindows = 0.25;

  // Views its arguments, which must outlive it. Windows of `length` instants
  // are drawn from the training ranges. REQUIRES: no empty range.
  VerdictSampling(const WindowSampler& sampler, const FaultLabels& labels,
                  std::span<const Range> training, int length);

  Range Draw(Random& random) const;

  // What an instant's cross-entropy counts: on average over the windows drawn,
  // one half for all faults together and one half for the rest.
  float Weight(bool fault) const {
    return fault ? fault_weight_ : nominal_weight_;
  }

 private:
  struct Place {
    Range fault;
    Range within;  // the training range that it lies in
  };
  Range DrawAtFault(Random& random) const;
  void Balance();

  const WindowSampler& sampler_;
  const FaultLabels& labels_;
  const std::span<const Range> training_;
  const int length_;
  std::vector<Place> places_;
  double aimed_ = 0;  // the share of windows that are aimed at a fault
  float fault_weight_ = 0, nominal_weight_ = 0;
};

}  // namespace telltale::model
