#pragma once

#include <string>

#include "absl/status/status.h"

#include "model/checkpoint/checkpoint.h"

namespace telltale::server {

// A model's card as Markdown, for whoever decides whether to rely on it: what
// it learnt from, its channels, its threshold and how well that is known, what
// evaluations found beside their control lines, and where it is blind. What has
// not been measured is said to be unknown.
std::string CardMarkdown(const model::Checkpoint& checkpoint,
                         const std::string& path, const std::string& version);

// Where the card of a model lies unless told otherwise: beside it,
// engine.card.md for engine.safetensors, engine.v2.card.md for engine.v2.
std::string CardPath(const std::string& model_path);

// Writes the card of the model that was saved as `path`, whole or not at all.
// Errors say that the model is safe, and name the card.
absl::Status WriteCard(const model::Checkpoint& checkpoint,
                       const std::string& path, const std::string& card_path);

}  // namespace telltale::server
