#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "server/storage/score_store.h"

namespace telltale::server {

// The token of the page after `cursor` in the listing that `query` describes:
// opaque to clients, of use for that listing alone.
std::string MakePageToken(const ScoreQuery& query, const ScoreCursor& cursor);

// kInvalidArgument: not a token, or one of another listing.
absl::StatusOr<ScoreCursor> ParsePageToken(const std::string& token,
                                           const ScoreQuery& query);

}  // namespace telltale::server
