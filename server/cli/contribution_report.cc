#include "server/cli/contribution_report.h"

namespace telltale::server {
namespace {

std::optional<double> Share(int part, int whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / whole;
}

}  // namespace

int StrongestRow(const ScoreFile& scores, const model::Interval& label) {
  int strongest = label.first;
  for (int t = label.first + 1; t <= label.last; ++t) {
    const bool alarmed = scores.alarms[t] > scores.alarms[strongest];
    const bool level = scores.alarms[t] == scores.alarms[strongest];
    if (alarmed || (level && scores.scores[t] > scores.scores[strongest])) {
      strongest = t;
    }
  }
  return strongest;
}

void AddContribution(const ScoreFile& scores, const data::LabelledEvent& label,
                     const model::Interval& rows, ContributionReport& report) {
  if (label.channel.empty() || scores.top_channel.empty()) return;
  const int row = StrongestRow(scores, rows);
  const int channel = scores.top_channel[row];
  const bool right =
      channel >= 0 && scores.channel_names[channel] == label.channel;
  const bool found = scores.alarms[row] != 0;
  ++report.labels;
  report.right += right ? 1 : 0;
  report.found += found ? 1 : 0;
  report.found_right += found && right ? 1 : 0;
}

std::optional<double> RightShare(const ContributionReport& report) {
  return Share(report.right, report.labels);
}

std::optional<double> FoundRightShare(const ContributionReport& report) {
  return Share(report.found_right, report.found);
}

}  // namespace telltale::server
