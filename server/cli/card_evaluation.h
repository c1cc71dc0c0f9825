#pragma once

#include <string>
#include <vector>

#include "server/cli/card_text.h"

namespace telltale::server {

// The section of a card that tells one evaluation (WithEvaluation), as
// Markdown. A record that is damaged is told as far as it is whole.
std::string EvaluationMarkdown(const Json& record);

// Kinds of labels of which less than half were found, with their counts:
// "drift (3 of 8)".
std::vector<std::string> KindsHardlyFound(const Json& record);

}  // namespace telltale::server
