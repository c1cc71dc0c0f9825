#pragma once

#include "proto/telltale/v1/score.pb.h"
#include "server/cli/score_table.h"

namespace telltale::server {

// A verdict as a server sent it, for tables and sentences.
ScoreRow RowFrom(const ::telltale::v1::InstantScore& score, float threshold);

}  // namespace telltale::server
