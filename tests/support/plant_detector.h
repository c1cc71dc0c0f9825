#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/series.h"
#include "model/checkpoint/checkpoint.h"
#include "model/detector.h"

namespace telltale::model {

// A model of the plant (plant.h), trained once a process, at the first call.
const Checkpoint& PlantCheckpoint();
// The detector of its file, in the precision that TELLTALE_TEST_PRECISION names
// (bf16 where the processor has it); float32 where it names none.
const Detector& PlantDetector();

// `length` instants of the plant with faults in it, samples and whole instants
// missing, two gaps, and a stretch of dense and one of jittered sampling.
data::Series EventfulSeries(uint64_t seed, int length);

// Advances a stream over instants [begin, end) in windows of `window` instants
// (the last may be shorter), and returns the verdicts.
std::vector<InstantScore> Advance(const Detector& detector, StreamState& state,
                                  const data::Series& series, int begin,
                                  int end, int window = 64);
// The same over a whole series and a new stream.
std::vector<InstantScore> Score(const data::Series& series, int window = 64);

// Every field, floats to the bit; equal texts are equal verdicts.
std::string Text(const InstantScore& score);
std::vector<std::string> Texts(const std::vector<InstantScore>& scores);

int CountAlarms(const std::vector<InstantScore>& scores);

}  // namespace telltale::model
