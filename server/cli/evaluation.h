#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "data/labels.h"
#include "model/evaluation/affiliation.h"
#include "model/evaluation/attribution.h"
#include "model/evaluation/baselines.h"
#include "model/evaluation/events.h"
#include "model/evaluation/ranking.h"
#include "model/evaluation/vus.h"
#include "server/cli/contribution_report.h"
#include "server/cli/score_file.h"

namespace telltale::server {

// False alarm events for each 10,000 unlabelled instants, at which recall is
// told.
inline constexpr double kBudgets[] = {1, 5, 20};
// The one of them at which recall is told by kind of label.
inline constexpr double kKindBudget = kBudgets[1];

// How well scores tell labelled instants from others, whatever the threshold.
struct Detection {
  std::string name;  // whose scores
  model::Vus vus;
  model::Ranking ranking;
  std::vector<double> recall_at;  // kBudgets, thresholds from these scores
  std::vector<bool> found;        // each label, at kKindBudget
};

// What alarms are worth.
struct Alarms {
  std::string name;
  model::EventReport events;
  model::Affiliation affiliation;
};

struct Attribution {
  std::string name;
  model::AttributionReport report;
};

// Whether alarms rest on what they point back to: means, over all alarms that
// were checked, of the change of their residuals, in deviations.
struct MaskingEffect {
  int alarms = 0;      // checked
  double pointed = 0;  // without the instants pointed back to
  double random = 0;   // without as many random ones
};

// Labels of one kind. Attribution is of those whose cause is known.
struct KindReport {
  std::string kind;  // as labelled; empty: not told
  int labels = 0;
  int found = 0;
  // For each row of Evaluation::detection, at kKindBudget.
  std::vector<double> recall;
  model::AttributionReport attribution;
  ContributionReport contributions;
};

// Everything that `telltale evaluate` tells. The first row of each list is the
// detector's; the others are controls computed in the same run. Of nominal
// telemetry, without labels, there are the detector's alarms alone.
struct Evaluation {
  int instants = 0;
  int scored = 0;
  int trained = 0;   // of them, known to the model from training
  int labelled = 0;  // instants
  int labels = 0;
  int buffer = 0;
  std::vector<Detection> detection;  // empty: no labels
  std::vector<Alarms> alarms;
  std::vector<Attribution> attribution;  // empty: no label tells its cause
  MaskingEffect masking;
  ContributionReport contributions;  // of labels that tell their channel
  std::vector<KindReport> kinds;     // empty: no label tells its kind
};

// `baselines`: further controls, scores of the same instants. As a control of
// attribution they point back to their own highest scores. kInvalidArgument,
// naming the label (from 1): one that covers no row; or all rows labelled.
absl::StatusOr<Evaluation> Evaluate(const ScoreFile& scores,
                                    std::span<const data::LabelledEvent> labels,
                                    std::span<const model::Baseline> baselines,
                                    int buffer);

}  // namespace telltale::server
