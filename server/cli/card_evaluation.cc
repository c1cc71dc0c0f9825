#include "server/cli/card_evaluation.h"

#include <utility>

#include "absl/strings/str_format.h"

#include "server/cli/markdown.h"

namespace telltale::server {
namespace {

// A member; null where there is none.
const Json& At(const Json& json, const char* name) {
  static const Json& none = *new Json();
  if (!json.is_object()) return none;
  const auto member = json.find(name);
  return member == json.end() ? none : *member;
}

std::string Figure(const Json& json, const char* name, int digits) {
  const Json& figure = At(json, name);
  if (!figure.is_number()) return "-";
  return absl::StrFormat("%.*f", digits, figure.get<double>());
}

std::string Share(const Json& json, const char* name) {
  return Figure(json, name, 3);
}

std::string Count(const Json& json, const char* name) {
  const Json& count = At(json, name);
  return count.is_number_integer() ? Grouped(count.get<int64_t>()) : "-";
}

std::string Name(const Json& json, const char* name) {
  const Json& text = At(json, name);
  return text.is_string() ? EscapeMarkdown(text.get<std::string>()) : "?";
}

// Labels need not tell their kind.
std::string KindName(const Json& row) {
  const std::string kind = Name(row, "kind");
  return kind.empty() ? "(none)" : kind;
}

std::string DetectionTable(const Json& figures) {
  const Json& rows = At(figures, "detection");
  if (rows.empty()) return "";
  MarkdownTable table({"detection, whatever the threshold", "VUS-PR", "VUS-ROC",
                       "AUC-PR", "AUC-ROC", "recall at 1", "at 5", "at 20"});
  for (const Json& row : rows) {
    const Json& recall = At(row, "recall_at_false_alarms_per_10k");
    table.Add({Name(row, "name"), Share(row, "vus_pr"), Share(row, "vus_roc"),
               Share(row, "auc_pr"), Share(row, "auc_roc"), Share(recall, "1"),
               Share(recall, "5"), Share(recall, "20")});
  }
  return table.Text();
}

std::string AlarmsTable(const Json& figures) {
  const Json& rows = At(figures, "alarms");
  if (rows.empty()) return "";
  MarkdownTable table({"at its own threshold", "labels", "found", "precision",
                       "F0.5", "false alarms per 10,000",
                       "mean delay, instants"});
  for (const Json& row : rows) {
    table.Add({Name(row, "name"), Count(row, "labels"), Count(row, "found"),
               Share(row, "precision"), Share(row, "f05"),
               Figure(row, "false_alarms_per_10k", 1),
               Figure(row, "mean_delay", 1)});
  }
  return table.Text();
}

std::string AttributionTable(const Json& figures) {
  const Json& rows = At(figures, "attribution");
  if (rows.empty()) {
    return "Whether anomalies point back to their causes is unknown: no label "
           "tells its cause.\n\n";
  }
  MarkdownTable table({"points back to the cause", "causes", "hit@1", "hit@3",
                       "hit@5", "mean reciprocal rank"});
  for (const Json& row : rows) {
    table.Add({Name(row, "name"), Count(row, "events"), Share(row, "hit_at_1"),
               Share(row, "hit_at_3"), Share(row, "hit_at_5"),
               Share(row, "mean_reciprocal_rank")});
  }
  return table.Text();
}

std::string MaskingText(const Json& figures) {
  const Json& masking = At(figures, "masking");
  if (!masking.is_object()) {
    return "Masking effect: not measured (`telltale score --masking`), so that "
           "what is pointed back to must not be called a cause.\n\n";
  }
  return absl::StrFormat(
      "Masking effect: over %s alarms, taking away the instants pointed back "
      "to changes the alarmed residual by %s deviations, taking away as many "
      "random ones by %s: a ratio of %s.\n\n",
      Count(masking, "alarms"), Share(masking, "pointed"),
      Share(masking, "random"), Figure(masking, "ratio", 1));
}

std::string ContributionsText(const Json& figures) {
  const Json& contributions = At(figures, "contributions");
  if (!At(contributions, "share").is_number()) return "";
  return absl::StrFormat(
      "Of %s labels that name their channel, it had the largest share of the "
      "score in %s; of the %s found, in %s.\n\n",
      Count(contributions, "labels"), Count(contributions, "right"),
      Count(contributions, "found"), Count(contributions, "found_right"));
}

std::string KindsTable(const Json& figures) {
  const Json& rows = At(figures, "kinds");
  if (rows.empty()) return "";
  MarkdownTable table(
      {"kind of label", "labels", "found", "hit@1", "right channel"});
  for (const Json& row : rows) {
    const Json& attribution = At(row, "attribution");
    const bool caused = At(attribution, "events") != 0;
    table.Add({KindName(row), Count(row, "labels"), Count(row, "found"),
               caused ? Share(attribution, "hit_at_1") : "-",
               Share(At(row, "contributions"), "share")});
  }
  return table.Text();
}

std::string ScopeText(const Json& record, const Json& figures) {
  std::string text = absl::StrFormat(
      "%s instants, %s of them scored; %s labels, which cover %s instants "
      "(labels' SHA-256 %s).",
      Count(figures, "instants"), Count(figures, "scored"),
      Count(figures, "labels"), Count(figures, "labelled_instants"),
      Name(record, "labels_sha256"));
  if (At(record, "data").is_string()) {
    text += absl::StrFormat(" Control lines fitted on %s.",
                            Name(record, "nominal"));
  } else {
    text += " Control lines other than random scores: not measured.";
  }
  const Json& trained = At(figures, "trained");
  if (trained.is_number_integer() && trained != 0) {
    text += absl::StrFormat(
        " **The model was trained or calibrated on %s of these instants: the "
        "figures flatter it.**",
        Count(figures, "trained"));
  }
  return text + "\n\n";
}

}  // namespace

std::string EvaluationMarkdown(const Json& record) {
  const Json& figures = At(record, "figures");
  return absl::StrFormat("### %s, %s\n\n", Name(record, "scores"),
                         Name(record, "labels")) +
         ScopeText(record, figures) + DetectionTable(figures) +
         AlarmsTable(figures) + AttributionTable(figures) +
         MaskingText(figures) + ContributionsText(figures) +
         KindsTable(figures);
}

std::vector<std::string> KindsHardlyFound(const Json& record) {
  std::vector<std::string> kinds;
  for (const Json& row : At(At(record, "figures"), "kinds")) {
    const Json& labels = At(row, "labels");
    const Json& found = At(row, "found");
    if (!labels.is_number_integer() || !found.is_number_integer()) continue;
    if (2 * found.get<double>() >= labels.get<double>()) continue;
    kinds.push_back(absl::StrFormat("%s (%s of %s)", KindName(row),
                                    Count(row, "found"), Count(row, "labels")));
  }
  return kinds;
}

}  // namespace telltale::server
