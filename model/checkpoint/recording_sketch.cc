#include "model/checkpoint/recording_sketch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace telltale::model {
namespace {

// Keys are gathered up to so many before the smallest are picked.
constexpr size_t kGathered = size_t{8} * RecordingSketch::kSize;

// One step of SplitMix64's finalizer over what was hashed so far.
uint64_t Mix(uint64_t hash, uint64_t word) {
  uint64_t z = (hash ^ word) + 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// One pattern for all missing samples, and one for both zeros.
uint32_t Bits(float sample) {
  if (std::isnan(sample)) sample = std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<uint32_t>(sample == 0 ? 0.0F : sample);
}

void KeepSmallest(std::vector<uint64_t>& keys) {
  std::ranges::sort(keys);
  // Not std::ranges::unique: clang 14 rejects it with GCC's library.
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  if (keys.size() > RecordingSketch::kSize) {
    keys.resize(RecordingSketch::kSize);
  }
}

}  // namespace

RecordingSketch RecordingSketch::FromValues(std::span<const int64_t> values) {
  RecordingSketch sketch;
  if (values.size() < 3) return sketch;
  sketch.first_time_ns_ = values[0];
  sketch.last_time_ns_ = values[1];
  const size_t count = std::min<size_t>(values.size() - 2, kSize);
  for (const int64_t value : values.subspan(2, count)) {
    sketch.keys_.push_back(std::bit_cast<uint64_t>(value));
  }
  KeepSmallest(sketch.keys_);
  return sketch;
}

void RecordingSketch::Add(const data::Series& series) {
  InstantKeys keys;
  for (int t = 0; t < series.length(); ++t) {
    const int64_t time_ns = series.time_ns[static_cast<size_t>(t)];
    const auto key = keys.Push(time_ns, series.Instant(t));
    if (!key) continue;
    const bool first = keys_.empty();
    first_time_ns_ = first ? time_ns : std::min(first_time_ns_, time_ns);
    last_time_ns_ = first ? time_ns : std::max(last_time_ns_, time_ns);
    keys_.push_back(*key);
    if (keys_.size() >= kGathered) KeepSmallest(keys_);
  }
  KeepSmallest(keys_);
}

bool RecordingSketch::Holds(uint64_t key) const {
  return std::ranges::binary_search(keys_, key);
}

std::vector<int64_t> RecordingSketch::Values() const {
  if (empty()) return {};
  std::vector<int64_t> values = {first_time_ns_, last_time_ns_};
  for (const uint64_t key : keys_) {
    values.push_back(std::bit_cast<int64_t>(key));
  }
  return values;
}

std::optional<uint64_t> InstantKeys::Push(int64_t time_ns,
                                          std::span<const float> samples) {
  uint64_t values = 0;
  for (const float sample : samples) values = Mix(values, Bits(sample));
  const bool differs = count_ > 0 && values != last_samples_;
  last_samples_ = values;
  constexpr auto kSpan = static_cast<int64_t>(RecordingSketch::kSpan);
  hashes_[static_cast<size_t>(count_ % kSpan)] =
      Mix(values, static_cast<uint64_t>(time_ns));
  ++count_;
  if (!differs || count_ < kSpan) return std::nullopt;
  uint64_t key = 0;
  for (int64_t i = 0; i < kSpan; ++i) {  // the oldest first
    key = Mix(key, hashes_[static_cast<size_t>((count_ + i) % kSpan)]);
  }
  return key;
}

void SharedInstants::Push(int64_t time_ns, std::span<const float> samples) {
  const auto key = keys_.Push(time_ns, samples);
  if (!key || !sketch_.Holds(*key)) return;
  if (count_ == 0) first_time_ns_ = time_ns;
  last_time_ns_ = time_ns;
  ++count_;
}

}  // namespace telltale::model
