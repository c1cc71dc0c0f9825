#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"

#include "model/detector.h"
#include "server/cli/telemetry_source.h"

namespace telltale::server {

struct ScorePassOptions {
  int threads = 1;  // at least 1
  // Instants that a thread scores at a time; 0: enough for the replay that
  // goes before them not to matter.
  int share = 0;
  bool with_masking = false;  // see model::StreamWindow
  bool with_views = false;    // the same
};

// Takes the next verdict; one for each instant of the source, in its order.
using ScoreSink = std::function<absl::Status(const model::InstantScore&)>;

// Scores the source from its first instant to its last as one stream, in
// memory that does not grow with its length.
//
// With several threads, the telemetry is cut into shares. A share in the middle
// is scored by a stream of its own that replays Detector::replay_length()
// instants before it, which rebuilds the stream's state to the bit: the
// verdicts do not depend on the number of threads. Errors of the source, the
// detector and the sink end the pass and are returned.
absl::Status ScorePass(const model::Detector& detector, TelemetrySource& source,
                       const ScorePassOptions& options, const ScoreSink& sink);

}  // namespace telltale::server
