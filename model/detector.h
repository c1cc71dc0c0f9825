#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "data/channel.h"
#include "data/window.h"
#include "model/ops/precision.h"

namespace telltale::model {

// What became of an instant.
enum class InstantState {
  kScored,      // has a score
  kWarmingUp,   // too little context for any forecast of it
  kIncomplete,  // too few valid samples to score
  kLate,        // arrived after its place had been scored
};

// How far into the tail a score lies, in the words of XTCE. The steps are in
// decades of probability beyond the threshold: 0, 1, 2, 4, 8.
enum class Severity {
  kNormal,
  kWatch,
  kWarning,
  kDistress,
  kCritical,
  kSevere,
};

// One channel's part in a score.
struct Contribution {
  int channel = 0;     // index in the model's channel set
  float share = 0;     // of the score; the shares of an instant add up to one
  float observed = 0;  // in the channel's unit; NaN where missing
  float expected = 0;  // the forecast, in the channel's unit
};

// An earlier instant that the forecasts of an alarm rested on: of the alarmed
// instant itself and of those that alarmed shortly before it. Where a verdict
// raised the alarm, what the verdict rested on.
struct PointedInstant {
  int64_t time_ns = 0;
  int lag = 0;  // instants before the alarmed one
  double lag_seconds = 0;
  float weight = 0;  // share of the read-out over the reachable instants
  int channel = 0;   // the channel that stood out there
  // Where the masking check was asked for, and took this instant: by how many
  // deviations the alarmed residual changes without it. Otherwise NaN.
  float masking_change = std::numeric_limits<float>::quiet_NaN();
};

// Whether an alarm rests on what it points back to: by how many deviations the
// residual that alarmed changes when its forecast is made again without the
// keys of some earlier instants, in every layer. Of a verdict that alarmed, by
// how much its log odds change.
struct MaskingCheck {
  int instants = 0;   // masked together
  float pointed = 0;  // without the strongest so many that are pointed back to
  float random = 0;   // without as many random earlier ones; mean of draws
};

// The verdict on one instant.
struct InstantScore {
  int64_t time_ns = 0;
  InstantState state = InstantState::kWarmingUp;
  // -log10 of the probability that nominal operation gives a value as extreme;
  // 0 unless kScored. Unbounded; higher is always more anomalous.
  float score = 0;
  float probability = 0;  // 1 - 10^-score: 0 nominal, towards 1 anomalous
  // Where the model gives verdicts, and only if kScored: the probability that
  // the instant belongs to a fault like those that were labelled in training,
  // at equal odds before the evidence.
  std::optional<float> verdict = {};
  // score > threshold, or the verdict is above its own.
  bool anomaly = false;
  Severity severity = Severity::kNormal;
  int missing = 0;  // samples missing at this instant
  // Largest share first; continuous channels only. For alarmed instants all of
  // them, for others the largest (empty unless kScored).
  std::vector<Contribution> contributions;
  // Strongest first, for alarmed instants; otherwise empty.
  std::vector<PointedInstant> points_back_to;
  // What lagged_scores.h takes of it, when asked for; otherwise empty.
  std::vector<float> views;
  // For alarmed instants, when asked for; none where there is too little to
  // point back to or to draw from.
  std::optional<MaskingCheck> masking = std::nullopt;
};

// The attention of one layer over the reachable instants, for the queries of
// one window.
struct AttentionRows {
  int layer = 0;
  int head_count = 0;
  std::vector<int64_t> query_time_ns;  // [queries]
  std::vector<int64_t> key_time_ns;    // [keys], ascending
  // [head_count, queries, keys]; 0 where a head cannot see. The rest up to one
  // is `nothing`.
  std::vector<float> weights;
  std::vector<float> nothing;  // [head_count, queries]: weight on no instant
};

// The verdict on a window: one entry for each instant that was new to the
// stream, in order of time.
struct WindowScore {
  std::vector<InstantScore> instants;
  std::vector<AttentionRows> attention;  // one a layer, when asked for
};

// What one model remembers of one stream. Belongs to the detector that made it
// and must not outlive it; used by one thread at a time.
class StreamState {
 public:
  virtual ~StreamState() = default;

  // Instants advanced over so far.
  virtual int64_t instant_count() const = 0;
  // Time stamp of the latest of them. REQUIRES: instant_count() > 0.
  virtual int64_t last_time_ns() const = 0;
  // The state as bytes, for Detector::RestoreStream.
  virtual std::string Save() const = 0;
};

// What a caller may know of a model.
struct ModelDescription {
  std::string name;  // of the checkpoint file, without its ending
  // What tells its scores from others', to the bit: the SHA-256 of the
  // checkpoint file, 64 hex digits, and where the precision is not float32 a
  // dash and its name.
  std::string version;
  Precision precision = Precision::kFloat32;
  data::ChannelSet channels;
  int64_t cadence_ns = 0;     // the time between two instants in training
  int context_length = 0;     // instants that an instant may attend to
  std::vector<int> horizons;  // instants ahead that are forecast, rising
  int layer_count = 0;
  int head_count = 0;
  int64_t parameter_count = 0;
  float threshold = 0;  // a score above it is an anomaly
  std::optional<float> verdict_threshold = {};  // of models that give verdicts
  double false_alarms_per_10k = 0;  // the budget the threshold was set for
  std::string training_record;      // JSON
};

// ModelDescription::version of a checkpoint file.
std::string VersionOf(std::string_view sha256, Precision precision);

// One window of one stream, to be advanced over.
struct StreamWindow {
  StreamState* state = nullptr;
  const data::Window* window = nullptr;  // channels in the model's order
  bool with_attention = false;           // return the full rows as well
  bool with_masking = false;             // make the masking check of alarms
  bool with_views = false;               // fill InstantScore::views
};

// One trained model, ready to score: scaler, forecaster, calibration and
// threshold from one checkpoint, so that they cannot disagree.
//
// The only class that the server uses of model/; abstract, so that tests of
// faults and races can put another in its place. Const methods may be called
// from several threads at once.
class Detector {
 public:
  virtual ~Detector() = default;

  // kNotFound: no such file. kDataLoss: damaged. kFailedPrecondition: written
  // by an incompatible version. REQUIRES: IsSupported(precision).
  static absl::StatusOr<std::unique_ptr<const Detector>> Load(
      const std::filesystem::path& checkpoint,
      Precision precision = Precision::kFloat32);

  virtual const ModelDescription& description() const = 0;

  // After so many instants a stream's state no longer depends on what came
  // before them: advancing a new stream over the last `replay_length()`
  // instants, counted from the same instant_count, rebuilds it to the bit.
  virtual int replay_length() const = 0;

  // A stream with no past. `instant_count` places its next instant: a stream
  // rebuilt by replay must start at the count that the replayed instants had.
  virtual std::unique_ptr<StreamState> NewStream(
      int64_t instant_count = 0) const = 0;

  // kDataLoss: not the bytes of a state of this model version.
  virtual absl::StatusOr<std::unique_ptr<StreamState>> RestoreStream(
      std::string_view bytes) const = 0;

  // Advances each stream over its window and returns a verdict for each, in
  // the order given. Instants at or before a stream's last_time_ns() are
  // context already seen: they are passed over, and have no entry.
  // REQUIRES: no state twice; every window has the model's channel count.
  // Result i depends, to the bit, on nothing but stream i: not on its
  // neighbours, not on how the stream was cut into windows, not on the thread,
  // not on what is asked for besides. kInternal: a forecast that is not finite;
  // the streams involved must be discarded.
  virtual absl::StatusOr<std::vector<WindowScore>> Advance(
      std::span<const StreamWindow> windows) const = 0;
};

}  // namespace telltale::model
