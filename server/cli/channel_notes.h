#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/channel.h"
#include "data/channel_summary.h"

namespace telltale::server {

// What a user should know of channels before relying on a model of them: those
// without a sample, those that never change, and those whose changes single
// precision has swallowed. A sentence each; none where there is nothing to say.
// REQUIRES: a summary for each channel.
std::vector<std::string> ChannelNotes(
    const data::ChannelSet& channels,
    std::span<const data::ChannelSummary> summaries);

}  // namespace telltale::server
