#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/encoder_config.h"
#include "model/layers/score_mask.h"
#include "model/matrix.h"

namespace telltale::model {

// Instants of one stream that one pass advances over at the most.
inline constexpr int kTileRows = 16;

// The keys and values of one layer that a stream may still attend to, in a
// ring: instant i stands in slot i modulo the slot count, so that a query sums
// over its keys in an order that depends on the instant alone.
class KvLayer {
 public:
  KvLayer(const EncoderConfig& config, const LayerConfig& layer);

  void Append(int64_t index, double position, const float* key,
              const float* value);

  // The kept instants of [begin, end) as one or two runs of slots.
  // REQUIRES: end - begin <= slot_count().
  std::span<const KeyRun> Runs(int64_t begin, int64_t end);

  int64_t slot_count() const { return static_cast<int64_t>(positions.size()); }
  int64_t Slot(int64_t index) const { return index % slot_count(); }

  // A slot a column, so that scores of neighbouring slots are computed side by
  // side; the columns from slot_count() on are unused.
  Matrix keys;    // [heads * query_width, stride], turned by position
  Matrix values;  // [heads * value_width, stride]
  std::vector<double> positions;  // [slots]

 private:
  friend class KvCache;  // saves and restores it

  // From this instant on positions are whole numbers that rise by one.
  int64_t regular_begin_ = 0;
  std::array<KeyRun, 2> runs_;
};

// What one stream's encoder remembers: per layer keys and values, the inputs
// under the stem's next convolution, and, to look back from an alarm, the
// recent outputs of the stem and the last layer's inputs and queries. Used by
// one thread at a time.
class KvCache {
 public:
  // A stream whose next instant has the given index.
  KvCache(const EncoderConfig& config, int64_t first_index);

  // Forgets everything: the next instant is that of a new stream.
  void Clear(int64_t first_index);

  int64_t first_index() const { return first_index_; }
  // Index of the next instant.
  int64_t end_index() const { return end_index_; }

  // The earliest instant that a layer may still hold.
  int64_t Begin(const KvLayer& layer) const;

  void RememberStem(int64_t index, const float* stem);
  void Remember(int64_t index, const float* input, const float* query);
  // Of the next instants. REQUIRES: config.KeepsInputs().
  void RememberInputs(const ConstMatrixView& x);
  void set_end_index(int64_t index) { end_index_ = index; }

  std::vector<KvLayer>& layers() { return layers_; }
  Matrix& recent_inputs() { return recent_inputs_; }  // [taps - 1, I]
  // Instants looked back on, at instant i in row i modulo lookback(): what the
  // stem made of them; input and query of the last layer.
  int64_t lookback() const { return last_inputs_.rows(); }
  const float* Stem(int64_t index) const;
  const float* LastInput(int64_t index) const;
  // Of any instant under a stem that the last layer holds.
  const float* Input(int64_t index) const;
  const float* LastQuery(int64_t index) const;

  // Every float and double in order, and back. False: not of this size.
  void Save(std::string& bytes) const;
  bool Restore(std::string_view& bytes);

 private:
  template <typename Visit>
  void VisitArrays(const Visit& visit);

  int64_t first_index_;
  int64_t end_index_;
  std::vector<KvLayer> layers_;
  Matrix recent_inputs_;
  Matrix stems_;         // [lookback, D]
  Matrix last_inputs_;   // [lookback, D]
  Matrix last_queries_;  // [lookback, heads * query_width]
  Matrix inputs_;        // [last layer's slots + taps - 1, I], if they are kept
};

}  // namespace telltale::model
