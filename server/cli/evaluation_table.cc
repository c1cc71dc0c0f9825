#include "server/cli/evaluation_table.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include <nlohmann/json.hpp>

namespace telltale::server {
namespace {

using Json = nlohmann::ordered_json;

// Rows of cells, the first row being the headings; the first column is text
// and stands left, the others stand right.
class Table {
 public:
  explicit Table(std::vector<std::string> headings) {
    rows_.push_back(std::move(headings));
  }

  void Add(std::vector<std::string> cells) {
    rows_.push_back(std::move(cells));
  }

  std::string Text() const {
    std::vector<size_t> widths(rows_.front().size(), 0);
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) {
        widths[i] = std::max(widths[i], row[i].size());
      }
    }
    std::string text;
    for (const auto& row : rows_) {
      text += "  " + row[0] + std::string(widths[0] - row[0].size(), ' ');
      for (size_t i = 1; i < row.size(); ++i) {
        text += "  " + std::string(widths[i] - row[i].size(), ' ') + row[i];
      }
      text += '\n';
    }
    return text + '\n';
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string Share(double value) { return absl::StrFormat("%.3f", value); }
std::string Count(int value) { return absl::StrFormat("%d", value); }

std::string DetectionText(const Evaluation& evaluation) {
  if (evaluation.detection.empty()) return "";
  std::vector<std::string> headings = {"", "VUS-PR", "VUS-ROC", "AUC-PR",
                                       "AUC-ROC"};
  for (const double budget : kBudgets) {
    headings.push_back(absl::StrFormat("recall@%g", budget));
  }
  Table table(std::move(headings));
  for (const Detection& row : evaluation.detection) {
    std::vector<std::string> cells = {
        row.name, Share(row.vus.pr), Share(row.vus.roc),
        Share(row.ranking.auc_pr), Share(row.ranking.auc_roc)};
    for (const double recall : row.recall_at) cells.push_back(Share(recall));
    table.Add(std::move(cells));
  }
  return absl::StrFormat(
             "Detection, whatever the threshold (VUS with a buffer of %d "
             "instants; recall of labels\nat 1, 5 and 20 false alarm events "
             "per 10,000 unlabelled instants)\n",
             evaluation.buffer) +
         table.Text();
}

std::string AlarmsText(const Evaluation& evaluation) {
  Table counts({"", "found", "recall", "precision", "F0.5", "false", "per 10k",
                "delay", "median"});
  Table quality({"", "ESA F0.5", "ESA precision", "alarming precision",
                 "affiliation P", "R", "F1"});
  for (const Alarms& row : evaluation.alarms) {
    const model::EventReport& events = row.events;
    counts.Add({row.name, absl::StrFormat("%d/%d", events.found, events.labels),
                Share(events.recall), Share(events.precision),
                Share(events.f05), Count(events.false_events),
                absl::StrFormat("%.2f", events.false_alarms_per_10k),
                absl::StrFormat("%.1f", events.mean_delay),
                absl::StrFormat("%.1f", events.median_delay)});
    quality.Add({row.name, Share(events.corrected_f05),
                 Share(events.corrected_precision),
                 Share(events.alarming_precision),
                 Share(row.affiliation.precision),
                 Share(row.affiliation.recall), Share(row.affiliation.f1)});
  }
  return absl::StrFormat(
             "Events at the detector's own threshold (alarms closer than %d "
             "instants are one event;\ncontrols alarm at as many instants, "
             "their highest; delays in instants)\n",
             model::kEventDistance) +
         counts.Text() + (evaluation.labels > 0 ? quality.Text() : "");
}

std::string AttributionText(const Evaluation& evaluation) {
  if (evaluation.attribution.empty()) return "";
  Table table({"", "events", "found", "hit@1", "hit@3", "hit@5", "MRR"});
  for (const Attribution& row : evaluation.attribution) {
    table.Add({row.name, Count(row.report.events), Count(row.report.found),
               Share(row.report.hit_at_1), Share(row.report.hit_at_3),
               Share(row.report.hit_at_5),
               Share(row.report.mean_reciprocal_rank)});
  }
  return absl::StrFormat(
             "Points back to the cause, within %d instants, from the strongest "
             "alarm of each label\n(the last %d instants do not count; labels "
             "not found are misses; controls point to\nthe 256 before: at "
             "random, or where their own scores are highest)\n",
             model::kCauseTolerance, model::kRecentInstants) +
         table.Text();
}

std::string MaskingText(const Evaluation& evaluation) {
  const MaskingEffect& masking = evaluation.masking;
  if (masking.alarms == 0) {
    return "Masking check: none in the table; `telltale score --masking` makes "
           "it\n\n";
  }
  const std::string ratio =
      masking.random > 0
          ? absl::StrFormat("%.1f", masking.pointed / masking.random)
          : "-";
  Table table({"", "alarms", "pointed at", "random", "ratio"});
  table.Add({"detector", Count(masking.alarms), Share(masking.pointed),
             Share(masking.random), ratio});
  return "Masking check: mean change of the alarmed residual, in deviations, "
         "without the instants\npointed back to most and without as many "
         "random earlier ones\n" +
         table.Text();
}

std::string ShareOrDash(const std::optional<double>& share) {
  return share ? Share(*share) : "-";
}

std::string ContributionsText(const Evaluation& evaluation) {
  const ContributionReport& report = evaluation.contributions;
  if (report.labels == 0) return "";
  Table table({"", "labels", "right", "share", "found", "right", "share"});
  table.Add({"detector", Count(report.labels), Count(report.right),
             ShareOrDash(RightShare(report)), Count(report.found),
             Count(report.found_right), ShareOrDash(FoundRightShare(report))});
  return "Largest share of the score on the channel that the label names, at "
         "its strongest instant\n(of all labels that name one; of those "
         "found)\n" +
         table.Text();
}

std::string KindsText(const Evaluation& evaluation) {
  if (evaluation.kinds.empty()) return "";
  Table table({"kind", "labels", "found", "with cause", "hit@1", "hit@3",
               "right channel"});
  std::vector<std::string> headings = {"kind"};
  for (const Detection& row : evaluation.detection) {
    headings.push_back(row.name);
  }
  Table recall(std::move(headings));
  for (const KindReport& row : evaluation.kinds) {
    const bool caused = row.attribution.events > 0;
    const std::string kind = row.kind.empty() ? "(none)" : row.kind;
    table.Add({kind, Count(row.labels), Count(row.found),
               Count(row.attribution.events),
               caused ? Share(row.attribution.hit_at_1) : "-",
               caused ? Share(row.attribution.hit_at_3) : "-",
               ShareOrDash(RightShare(row.contributions))});
    std::vector<std::string> cells = {kind};
    for (const double share : row.recall) cells.push_back(Share(share));
    recall.Add(std::move(cells));
  }
  return "By kind of label, at the detector's own threshold\n" + table.Text() +
         absl::StrFormat(
             "Recall by kind of label, at %g false alarm events per 10,000 "
             "unlabelled instants\n",
             kKindBudget) +
         recall.Text();
}

// What must not be overlooked before the figures are believed.
std::string CautionsText(const Evaluation& evaluation) {
  std::string text;
  if (evaluation.trained > 0) {
    text += absl::StrFormat(
        "Caution: the model was trained or calibrated on %d of these instants; "
        "figures flatter it.\n\n",
        evaluation.trained);
  }
  if (evaluation.detection.size() == 2) {
    text +=
        "One-line detectors, robust z and PCA join the controls with --data "
        "and --nominal.\n\n";
  }
  return text;
}

Json AlarmsJson(const Alarms& row) {
  const model::EventReport& events = row.events;
  return {{"name", row.name},
          {"labels", events.labels},
          {"found", events.found},
          {"alarm_events", events.alarm_events},
          {"false_events", events.false_events},
          {"redundant_events", events.redundant_events},
          {"recall", events.recall},
          {"precision", events.precision},
          {"f05", events.f05},
          {"esa_precision", events.corrected_precision},
          {"esa_f05", events.corrected_f05},
          {"alarming_precision", events.alarming_precision},
          {"false_alarms_per_10k", events.false_alarms_per_10k},
          {"mean_delay", events.mean_delay},
          {"median_delay", events.median_delay},
          {"affiliation_precision", row.affiliation.precision},
          {"affiliation_recall", row.affiliation.recall},
          {"affiliation_f1", row.affiliation.f1}};
}

Json AttributionJson(const model::AttributionReport& report) {
  return {{"events", report.events},
          {"found", report.found},
          {"hit_at_1", report.hit_at_1},
          {"hit_at_3", report.hit_at_3},
          {"hit_at_5", report.hit_at_5},
          {"mean_reciprocal_rank", report.mean_reciprocal_rank}};
}

Json ShareJson(const std::optional<double>& share) {
  return share ? Json(*share) : Json(nullptr);
}

Json ContributionsJson(const ContributionReport& report) {
  return {{"labels", report.labels},
          {"right", report.right},
          {"share", ShareJson(RightShare(report))},
          {"found", report.found},
          {"found_right", report.found_right},
          {"found_share", ShareJson(FoundRightShare(report))}};
}

Json MaskingJson(const MaskingEffect& masking) {
  if (masking.alarms == 0) return nullptr;
  Json json = {{"alarms", masking.alarms},
               {"pointed", masking.pointed},
               {"random", masking.random},
               {"ratio", nullptr}};
  if (masking.random > 0) json["ratio"] = masking.pointed / masking.random;
  return json;
}

}  // namespace

std::string EvaluationText(const Evaluation& evaluation) {
  return absl::StrFormat(
             "%d instants, %d of them scored; %d labels, which cover %d "
             "instants (%.1f %%)\n\n",
             evaluation.instants, evaluation.scored, evaluation.labels,
             evaluation.labelled,
             100.0 * evaluation.labelled / evaluation.instants) +
         CautionsText(evaluation) + DetectionText(evaluation) +
         AlarmsText(evaluation) + AttributionText(evaluation) +
         MaskingText(evaluation) + ContributionsText(evaluation) +
         KindsText(evaluation);
}

std::string EvaluationJson(const Evaluation& evaluation) {
  Json json = {{"instants", evaluation.instants},
               {"scored", evaluation.scored},
               {"trained", evaluation.trained},
               {"labels", evaluation.labels},
               {"labelled_instants", evaluation.labelled},
               {"buffer", evaluation.buffer},
               {"detection", Json::array()},
               {"alarms", Json::array()},
               {"attribution", Json::array()},
               {"masking", MaskingJson(evaluation.masking)},
               {"contributions", ContributionsJson(evaluation.contributions)},
               {"kinds", Json::array()}};
  for (const Detection& row : evaluation.detection) {
    Json recall = Json::object();
    for (size_t i = 0; i < std::size(kBudgets); ++i) {
      recall[absl::StrFormat("%g", kBudgets[i])] = row.recall_at[i];
    }
    json["detection"].push_back({{"name", row.name},
                                 {"vus_pr", row.vus.pr},
                                 {"vus_roc", row.vus.roc},
                                 {"auc_pr", row.ranking.auc_pr},
                                 {"auc_roc", row.ranking.auc_roc},
                                 {"recall_at_false_alarms_per_10k", recall}});
  }
  for (const Alarms& row : evaluation.alarms) {
    json["alarms"].push_back(AlarmsJson(row));
  }
  for (const Attribution& row : evaluation.attribution) {
    Json entry = {{"name", row.name}};
    entry.update(AttributionJson(row.report));
    json["attribution"].push_back(std::move(entry));
  }
  for (const KindReport& row : evaluation.kinds) {
    Json recall = Json::object();
    for (size_t i = 0; i < row.recall.size(); ++i) {
      recall[evaluation.detection[i].name] = row.recall[i];
    }
    json["kinds"].push_back(
        {{"kind", row.kind},
         {"labels", row.labels},
         {"found", row.found},
         {absl::StrFormat("recall_at_%g_per_10k", kKindBudget), recall},
         {"attribution", AttributionJson(row.attribution)},
         {"contributions", ContributionsJson(row.contributions)}});
  }
  // Kinds come from a file and may be any bytes.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace telltale::server
