#pragma once

#include <string>

#include "server/cli/evaluation.h"

namespace telltale::server {

// For people: tables with a line of explanation above each.
std::string EvaluationText(const Evaluation& evaluation);

// For programs: one JSON object on several lines.
std::string EvaluationJson(const Evaluation& evaluation);

}  // namespace telltale::server
