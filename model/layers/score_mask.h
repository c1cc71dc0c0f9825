#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/encoder_config.h"
#include "model/ops/attention.h"
#include "model/parameters.h"

namespace telltale::model {

// The score of a key that a query does not see: finite, so that softmax stays
// finite, and so low that its weight is exactly zero.
inline constexpr float kMasked = -1e9F;

// Consecutive instants whose keys stand in consecutive columns.
struct KeyRun {
  int64_t first_index = 0;  // the instant's place in its stream
  int64_t count = 0;
  const double* positions = nullptr;  // [count], units of cadence
  int64_t column = 0;                 // of the first key
  bool regular = false;  // positions are whole numbers that rise by one
};

// One query: its place in the stream and its position.
struct QueryPlace {
  int64_t index = 0;
  double position = 0;
  // Instants whose keys it is not shown, though within its reach.
  std::span<const int64_t> hidden = {};
};

// What a score is before the product of query and key is added: the learnt
// bias for the distance, or the mask.
//
// A row of scores has one column a key, then the null column (a head's score
// for attending to nothing), then masked columns up to a multiple of 16.
// Const methods are for one thread at a time: they share scratch.
class ScoreMask {
 public:
  // Views both arguments, which must outlive it.
  ScoreMask(const EncoderConfig& config, const LayerConfig& layer,
            const AttentionParameters& parameters);

  // Columns of a score row for so many keys.
  static int64_t Columns(int64_t key_count) {
    return (key_count / kKeyBlock + 1) * kKeyBlock;
  }

  // Whether positions are whole numbers that rise by one.
  static bool IsRegular(std::span<const double> positions);

  // The columns that hold what the queries from the first to the last in time
  // may see with a head, in whole key blocks. Holds until the next call.
  std::span<const KeyRange> Seen(const QueryPlace& first,
                                 const QueryPlace& last,
                                 std::span<const KeyRun> runs, int head) const;

  // Writes the rows of one query for all heads, over `key_columns` keys: that
  // of head h at rows + h * head_stride. A head that hidden keys leave nothing
  // to see attends to nothing, also where there is no null logit.
  void Fill(const QueryPlace& query, std::span<const KeyRun> runs,
            int64_t key_columns, float* rows, int64_t head_stride) const;

  // Given the gradients of such rows, adds to those of bias and null logit.
  void AddGradients(const QueryPlace& query, std::span<const KeyRun> runs,
                    int64_t key_columns, const float* rows, int64_t head_stride,
                    const AttentionParameters& gradients) const;

 private:
  // The part of a run that a head which starts `nearest` instants back sees,
  // as [begin, end) within the run.
  struct Range {
    int64_t begin = 0, end = 0;
  };
  Range Visible(const QueryPlace& query, const KeyRun& run,
                int64_t nearest) const;
  int64_t Nearest(int head) const;
  // True when each distance equals the difference of indices, as with regular
  // sampling. Otherwise fills distances_ for the run.
  bool Measure(const QueryPlace& query, const KeyRun& run) const;

  // The bias of one head for the keys of a run that it sees, by the distances
  // measured, into the run's columns; and its gradient back.
  void FillBias(const QueryPlace& query, const KeyRun& run, int head,
                bool regular, float* columns) const;
  void AddBiasGradients(const QueryPlace& query, const KeyRun& run, int head,
                        bool regular, const float* columns, float* table) const;
  // Takes hidden keys out of rows that are filled otherwise.
  void Hide(const QueryPlace& query, std::span<const KeyRun> runs,
            int64_t key_columns, float* rows, int64_t head_stride) const;

  const EncoderConfig& config_;
  const LayerConfig& layer_;
  const AttentionParameters& parameters_;
  mutable std::vector<double> distances_;
  mutable std::array<KeyRange, 2> seen_;
};

}  // namespace telltale::model
