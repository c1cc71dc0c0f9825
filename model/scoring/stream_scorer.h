#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "model/checkpoint/checkpoint.h"
#include "model/detector.h"
#include "model/input_encoding.h"
#include "model/kv_cache.h"
#include "model/ops/precision.h"
#include "model/scoring/attribution.h"
#include "model/scoring/forecast_ledger.h"
#include "model/scoring/readout_log.h"
#include "model/scoring/view_tracker.h"

namespace telltale::model {

class StreamScorer;

// What is remembered of one stream. Used by one thread at a time.
class StreamMemory {
 public:
  // `scorer` must outlive it.
  StreamMemory(const StreamScorer& scorer, int64_t first_index);

  int64_t end_index() const { return cache.end_index(); }
  int64_t last_time_ns() const { return last_time; }
  // Whether `time_ns` lies after everything seen.
  bool IsNew(int64_t time_ns) const { return !any_seen || time_ns > last_time; }

  void Save(std::string& bytes) const;
  bool Restore(std::string_view& bytes);

  KvCache cache;
  ForecastLedger ledger;
  ViewTracker tracker;
  SurpriseLog surprises;
  ReadoutLog readouts;
  bool any_seen = false;
  int64_t last_time = 0;
};

struct MemoryWindow {
  StreamMemory* memory = nullptr;
  const data::Window* window = nullptr;
  bool with_attention = false;
  bool with_masking = false;
  bool with_views = false;
};

// Turns windows into scores: encode, forecast, take residuals, judge them, and
// for alarmed instants look back. Thread-safe: each call borrows a worker, a
// context and an encoder, of which there come to be as many as calls at once.
class StreamScorer {
 public:
  // Instants at a stream's start that get no score: what they were forecast
  // from was too short to be a context.
  static constexpr int kWarmUp = 32;

  // Views the checkpoint, which must outlive it. REQUIRES:
  // IsSupported(precision).
  explicit StreamScorer(const Checkpoint& checkpoint,
                        Precision precision = Precision::kFloat32);
  ~StreamScorer();

  const Checkpoint& checkpoint() const { return checkpoint_; }

  // See Detector.
  int replay_length() const;
  absl::StatusOr<std::vector<WindowScore>> Advance(
      std::span<const MemoryWindow> windows) const;

 private:
  class Worker;

  std::unique_ptr<Worker> Borrow() const ABSL_LOCKS_EXCLUDED(mutex_);
  void GiveBack(std::unique_ptr<Worker> worker) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  const Checkpoint& checkpoint_;
  const Precision precision_;
  const InputEncoding encoding_;
  mutable absl::Mutex mutex_;
  mutable std::vector<std::unique_ptr<Worker>> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace telltale::model
