#pragma once

#include <cstdint>
#include <optional>

#include "server/cli/score_table.h"

namespace telltale::server {

// Gathers the alarmed instants of a stream into anomalies that people read:
// those fewer than kGap instants apart are one, told by its strongest instant.
// Not thread-safe.
class AnomalyDigest {
 public:
  static constexpr int64_t kGap = 20;

  struct Anomaly {
    ScoreRow strongest;
    int64_t first_time_ns = 0;
    int64_t last_time_ns = 0;
    int64_t instants = 0;  // above the threshold
  };

  // Takes the next instant; returns the anomaly that is over with it, if any.
  std::optional<Anomaly> Take(const ScoreRow& row);

  // The anomaly that the stream ended in, if any.
  std::optional<Anomaly> Finish();

  int64_t count() const { return count_; }  // begun so far

 private:
  std::optional<Anomaly> open_;
  int64_t since_alarm_ = 0;
  int64_t count_ = 0;
};

}  // namespace telltale::server
