#pragma once

#include <string>

#include "model/checkpoint/checkpoint.h"

namespace telltale::server {

// What a checkpoint is, for people to read: several lines. `version` is the
// SHA-256 of its file.
std::string ModelCard(const model::Checkpoint& checkpoint,
                      const std::string& path, const std::string& version);

// The same as one JSON object.
std::string ModelCardJson(const model::Checkpoint& checkpoint,
                          const std::string& path, const std::string& version);

// What came of a training, in a few lines; `path` is the file it was saved as,
// `card` its card.
std::string TrainingSummary(const model::Checkpoint& checkpoint,
                            const std::string& path, const std::string& card);

}  // namespace telltale::server
