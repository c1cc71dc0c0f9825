#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "data/channel.h"
#include "model/detector.h"

namespace telltale::server {

// Whether a stream is a vehicle now or a recording.
enum class StreamMode { kLive, kPlayback };

// Which stream: names are unique for a tenant and mode.
struct StreamKey {
  std::string tenant;
  std::string stream;
  StreamMode mode = StreamMode::kLive;

  friend bool operator==(const StreamKey&, const StreamKey&) = default;
  friend bool operator<(const StreamKey& a, const StreamKey& b) {
    return std::tie(a.tenant, a.stream, a.mode) <
           std::tie(b.tenant, b.stream, b.mode);
  }
};

// Which model scored, and how it calls its channels: enough to read a stored
// score when that model is no longer loaded.
struct ModelLabel {
  std::string name;
  std::string version;  // model::ModelDescription::version
  data::ChannelSet channels;

  friend bool operator==(const ModelLabel&, const ModelLabel&) = default;
};

// SHA-256 over what a client sent.
using PayloadHash = std::array<uint8_t, 32>;

// A window with the scores it was given: the unit of storage, identified by
// (key, epoch, sequence).
struct WindowRecord {
  StreamKey key;
  int64_t epoch = 0;
  int64_t sequence = 0;
  PayloadHash payload_hash{};
  // Shared by all records of a model: thousands of them may be in flight.
  std::shared_ptr<const ModelLabel> model;
  float threshold = 0;
  int64_t stored_ns = 0;  // wall time when it was handed over for storage
  // Instants of the epoch that the stream had advanced over before this window,
  // and how many this window added. Those added are its last ones.
  int64_t first_instant = 0;
  int32_t added_instants = 0;
  // The window as scored: [length] and [length x channels], model's order.
  std::vector<int64_t> time_ns;
  std::vector<float> samples;
  std::vector<int64_t> reception_time_ns;  // [length] or empty
  // What was answered, by rising time.
  std::vector<model::InstantScore> instants;
};

// The newest part of a stream: what it takes to go on with it.
struct StreamTail {
  int64_t epoch = 0;          // the newest, or the one asked for
  int64_t last_sequence = 0;  // the last that is stored
  int64_t instant_count = 0;  // advanced over up to there
  // The last windows, oldest first, that together added at least as many
  // instants as asked for (or all of the epoch), without their scores.
  std::vector<WindowRecord> windows;
};

// What part of a stream is wanted.
struct TailQuery {
  StreamKey key;
  int64_t instants = 0;  // how many added instants the windows should cover
  // The newest epoch unless given.
  std::optional<int64_t> epoch = std::nullopt;
  // Up to the window that added the instant of this time stamp instead of up to
  // the last.
  std::optional<int64_t> until_time_ns = std::nullopt;
};

// One stored verdict.
struct StoredScore {
  model::InstantScore instant;
  int64_t epoch = 0;
  int64_t sequence = 0;
  float threshold = 0;
  std::shared_ptr<const ModelLabel> model;
};

// Where a listing stands: behind this instant.
struct ScoreCursor {
  int64_t time_ns = 0;
  int64_t epoch = 0;
  int64_t sequence = 0;
};

// Which verdicts are wanted.
struct ScoreQuery {
  StreamKey key;
  std::optional<int64_t> start_time_ns;  // inclusive
  std::optional<int64_t> end_time_ns;    // exclusive
  std::optional<float> min_score;        // scored instants only
  bool anomalies_only = false;
  std::optional<int64_t> epoch;
  std::optional<ScoreCursor> after;
  int limit = 100;
};

// Verdicts by rising (time, epoch, sequence). May hold fewer than `limit`, even
// none, before the end: the work for one page is bounded.
struct ScorePage {
  std::vector<StoredScore> scores;
  std::optional<ScoreCursor> next;  // absent: this was the last page
};

// The archive. Asynchronous, so that it may be a file, a database beside or a
// service far away. Thread-safe.
//
// Callbacks run on the store's own threads, should take microseconds and must
// not call back into the store's destructor. Each is called exactly once, also
// for refusals (then possibly before the method returns) and also while the
// store is being destroyed.
//
// Common errors: kResourceExhausted, too many requests waiting; kUnavailable,
// cannot be reached or written now; kDataLoss, damaged rows; kInternal.
class ScoreStore {
 public:
  template <typename T>
  using Callback = std::function<void(T)>;

  virtual ~ScoreStore() = default;

  // Stores a window. OK: it is durable, also if it had been stored before with
  // the same payload hash. kAlreadyExists: with another one; nothing changed.
  // kFailedPrecondition: the window before it is not stored; an epoch begins
  // with 1 and never has a gap. Windows of one stream must be handed over in
  // order.
  virtual void Append(WindowRecord record, Callback<absl::Status> done) = 0;

  // kNotFound: nothing stored of such a stream, epoch or instant.
  virtual void FindTail(TailQuery query,
                        Callback<absl::StatusOr<StreamTail>> done) = 0;

  // One window with its scores. kNotFound: not stored.
  virtual void FindWindow(StreamKey key, int64_t epoch, int64_t sequence,
                          Callback<absl::StatusOr<WindowRecord>> done) = 0;

  // kNotFound: nothing stored of such a stream.
  virtual void FindScores(ScoreQuery query,
                          Callback<absl::StatusOr<ScorePage>> done) = 0;
};

}  // namespace telltale::server
