#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/series.h"

namespace telltale::model {

// A small sample of the instants of recordings, by which to tell whether
// another recording holds some of them: whether a model is being judged on what
// it learnt from.
//
// An instant is known by its key: a hash of the time stamps and samples of the
// kSpan instants that end with it. Where no sample differs from the one before
// there is no key: telemetry that stands still looks alike everywhere. Of all
// keys the kSize smallest are kept, so that a part in common is found wherever
// it lies, if it is not a very small one (Bar-Yossef et al., RANDOM 2002).
class RecordingSketch {
 public:
  static constexpr int kSize = 4096;
  // Single instants of two recordings may well be equal, if samples take few
  // values and time counts from zero in both.
  static constexpr int kSpan = 8;

  // Of nothing.
  RecordingSketch() = default;
  // Of what `values` returned; those that could not have been are dropped.
  static RecordingSketch FromValues(std::span<const int64_t> values);

  // Adds a run of instants, its channels in an order that is always the same.
  void Add(const data::Series& series);

  bool empty() const { return keys_.empty(); }
  // From the earliest to the latest time stamp added. REQUIRES: !empty().
  int64_t first_time_ns() const { return first_time_ns_; }
  int64_t last_time_ns() const { return last_time_ns_; }

  bool Holds(uint64_t key) const;

  // For a file: both time stamps, then the keys; nothing when empty.
  std::vector<int64_t> Values() const;

 private:
  int64_t first_time_ns_ = 0;
  int64_t last_time_ns_ = 0;
  std::vector<uint64_t> keys_;  // rising, each once, at most kSize
};

// Makes the keys of a recording's instants.
class InstantKeys {
 public:
  // The key of the next instant, if it has one.
  std::optional<uint64_t> Push(int64_t time_ns, std::span<const float> samples);

 private:
  std::array<uint64_t, RecordingSketch::kSpan> hashes_ = {};  // a ring
  int64_t count_ = 0;
  uint64_t last_samples_ = 0;  // their hash
};

// Goes over a recording and counts its instants that a sketch holds.
class SharedInstants {
 public:
  static constexpr int kFewest = 3;  // fewer may be chance

  // `sketch` must outlive this.
  explicit SharedInstants(const RecordingSketch& sketch) : sketch_(sketch) {}

  // The next instant, in order of time; channels as those of the sketch.
  void Push(int64_t time_ns, std::span<const float> samples);

  // Whether the recordings overlap, as far as seen.
  bool overlap() const { return count_ >= kFewest; }
  // The first and the last instant shared. REQUIRES: overlap().
  int64_t first_time_ns() const { return first_time_ns_; }
  int64_t last_time_ns() const { return last_time_ns_; }

 private:
  const RecordingSketch& sketch_;
  InstantKeys keys_;
  int64_t count_ = 0;
  int64_t first_time_ns_ = 0;
  int64_t last_time_ns_ = 0;
};

}  // namespace telltale::model
