#include "server/cli/anomaly_digest.h"

#include <utility>

namespace telltale::server {

std::optional<AnomalyDigest::Anomaly> AnomalyDigest::Take(const ScoreRow& row) {
  std::optional<Anomaly> over;
  ++since_alarm_;
  if (open_ && since_alarm_ >= kGap) over = Finish();
  if (!row.anomaly) return over;
  since_alarm_ = 0;
  if (!open_) {
    ++count_;
    open_ = {.strongest = row, .first_time_ns = row.time_ns};
  } else if (row.score.value_or(0) > open_->strongest.score.value_or(0)) {
    open_->strongest = row;
  }
  open_->last_time_ns = row.time_ns;
  ++open_->instants;
  return over;
}

std::optional<AnomalyDigest::Anomaly> AnomalyDigest::Finish() {
  return std::exchange(open_, std::nullopt);
}

}  // namespace telltale::server
