#include "server/cli/score_messages.h"

namespace telltale::server {
namespace {

namespace v1 = ::telltale::v1;

model::InstantState StateFrom(v1::InstantState state) {
  switch (state) {
    case v1::INSTANT_STATE_SCORED:
      return model::InstantState::kScored;
    case v1::INSTANT_STATE_INCOMPLETE:
      return model::InstantState::kIncomplete;
    case v1::INSTANT_STATE_LATE:
      return model::InstantState::kLate;
    default:
      return model::InstantState::kWarmingUp;
  }
}

}  // namespace

ScoreRow RowFrom(const v1::InstantScore& score, float threshold) {
  ScoreRow row;
  row.time_ns = score.time_ns();
  row.state = StateFrom(score.state());
  if (row.state == model::InstantState::kScored) row.score = score.score();
  row.threshold = threshold;
  if (score.has_verdict()) row.verdict = score.verdict();
  row.anomaly = score.anomaly();
  if (!score.contributions().empty()) {
    const v1::Contribution& largest = score.contributions(0);
    row.channel = largest.channel();
    row.unit = largest.unit();
    row.expected = largest.expected();
    row.observed = largest.observed();
  }
  for (const v1::PointedInstant& p : score.points_back_to()) {
    row.causes.push_back({p.time_ns(), p.lag(), p.weight(), p.channel()});
  }
  return row;
}

}  // namespace telltale::server
