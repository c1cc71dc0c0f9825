#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "data/series.h"
#include "model/encoder_config.h"
#include "model/training/fault_labels.h"
#include "model/training/range.h"

namespace telltale::model {

// What is trained on and what is held out.
struct Division {
  std::vector<Range> training, held_out;  // none empty
  int64_t training_instants = 0;
  // Whether segments were dealt whole, none of them divided.
  bool whole = false;
};

// What messages call a segment: its name, or its number.
std::string NameOf(std::span<const data::Series> segments, int segment);

// Divides each segment by time, its last part being held out, so that no target
// of the training part is a held-out instant.
//
// Where a segment's last part would be shorter than the encoder's context, so
// that its end is all there is to see, and where there are many such segments,
// they are dealt whole instead: a share of them is held out, and so is the same
// share of those with labelled faults. Which ones depends on nothing but their
// number and labels.
//
// A segment that is too short to be divided, beside others that are not, is
// trained on as a whole.
//
// kInvalidArgument: too little is left to train on.
absl::StatusOr<Division> Divide(std::span<const data::Series> segments,
                                const FaultLabels& labels, double held_out,
                                const EncoderConfig& encoder);

}  // namespace telltale::model
