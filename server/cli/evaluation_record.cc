#include "server/cli/evaluation_record.h"

#include <utility>

#include "server/cli/card_text.h"
#include "server/cli/evaluation_table.h"

namespace telltale::server {
namespace {

bool IsOf(const Json& record, const EvaluatedFiles& files) {
  return record.value("scores", Json()) == files.scores &&
         record.value("labels", Json()) == files.labels;
}

}  // namespace

std::string WithEvaluation(const std::string& card, const EvaluatedFiles& files,
                           const Evaluation& evaluation) {
  Json whole = ParseObject(card);
  Json kept = Json::array();
  for (const Json& record : whole["evaluations"]) {
    if (record.is_object() && !IsOf(record, files)) kept.push_back(record);
  }
  Json record = {{"scores", files.scores},
                 {"labels", files.labels},
                 {"labels_sha256", files.labels_sha256},
                 {"figures", ParseObject(EvaluationJson(evaluation))}};
  if (!files.data.empty()) {
    record["data"] = files.data;
    record["nominal"] = files.nominal;
  }
  kept.push_back(std::move(record));
  while (kept.size() > kMostEvaluations) kept.erase(kept.begin());
  whole["evaluations"] = std::move(kept);
  return whole.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace telltale::server
