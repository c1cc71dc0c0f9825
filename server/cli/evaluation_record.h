#pragma once

#include <cstddef>
#include <string>

#include "server/cli/evaluation.h"

namespace telltale::server {

// Evaluations that a card keeps, the latest ones.
inline constexpr size_t kMostEvaluations = 4;

// What was evaluated, by names and hash, without folders.
struct EvaluatedFiles {
  std::string scores;
  std::string labels;
  std::string labels_sha256;
  std::string data;     // empty: no baselines beside
  std::string nominal;  // what those were fitted on
};

// The card with the evaluation added; one of the same score and label names is
// replaced. `card`: a checkpoint's, a JSON object or, if damaged, as good as
// empty.
std::string WithEvaluation(const std::string& card, const EvaluatedFiles& files,
                           const Evaluation& evaluation);

}  // namespace telltale::server
