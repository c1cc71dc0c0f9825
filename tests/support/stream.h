#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "model/encoder_config.h"
#include "model/kv_cache.h"
#include "model/matrix.h"
#include "model/stream_encoder.h"

namespace telltale::model {

// A series that is fed to an encoder instant by instant, with its cache and
// the forecasts that came of it so far.
//
// Views config, x and positions, which must outlive it.
class Stream {
 public:
  // Begins at instant `first` of the series.
  Stream(const EncoderConfig& config, const Matrix& x,
         const std::vector<double>& positions, int64_t first = 0)
      : cache_(config, first),
        x_(x),
        positions_(positions),
        forecast_(x.rows(), config.output_width()),
        attention_(config.layers.size()),
        next_(first) {
    std::ranges::fill(forecast_.floats(), 0.0F);
  }

  bool done() const { return next_ == x_.rows(); }
  int64_t next() const { return next_; }
  KvCache& cache() { return cache_; }
  // Row i: what was forecast at instant i; zero where nothing was yet.
  const Matrix& forecast() const { return forecast_; }
  // The rows of the latest pass, by layer.
  const std::vector<std::vector<AttentionRow>>& attention() const {
    return attention_;
  }

  // The next `count` instants, or those that are left, as rows of one pass.
  StreamRows Take(int64_t count, bool with_attention = false) {
    count = std::min(count, x_.rows() - next_);
    StreamRows rows;
    rows.cache = &cache_;
    rows.x = x_.view().Rows(next_, count);
    rows.positions =
        std::span(positions_)
            .subspan(static_cast<size_t>(next_), static_cast<size_t>(count));
    rows.forecast = forecast_.view().Rows(next_, count);
    if (with_attention) {
      for (auto& layer : attention_) layer.clear();
      rows.attention = &attention_;
    }
    next_ += count;
    return rows;
  }

 private:
  KvCache cache_;
  const Matrix& x_;
  const std::vector<double>& positions_;
  Matrix forecast_;
  std::vector<std::vector<AttentionRow>> attention_;
  int64_t next_;
};

// Advances the stream alone to instant `end`, or its end, in passes of these
// sizes, over and over.
inline void AdvanceTo(StreamEncoder& encoder, Stream& stream,
                      const std::vector<int>& passes, int64_t end = INT64_MAX) {
  size_t pass = 0;
  while (!stream.done() && stream.next() < end) {
    const int64_t size = passes[pass++ % passes.size()];
    StreamRows rows = stream.Take(std::min(size, end - stream.next()));
    encoder.Advance({&rows, 1});
  }
}

}  // namespace telltale::model
