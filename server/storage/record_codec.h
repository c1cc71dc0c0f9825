#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "data/channel.h"
#include "model/detector.h"
#include "server/storage/score_store.h"

namespace telltale::server {

// How values lie in the store's blobs and checksums. Little-endian throughout;
// the grammar stands in the source file.

// What a verdict rests on: contributions, instants pointed back to, and what
// the verdict head says, if there is one.
std::string EncodeEvidence(const model::InstantScore& score);
// Fills the three. kDataLoss: not such bytes.
absl::Status DecodeEvidence(std::string_view bytes, model::InstantScore& score);

// Names, units and kinds; a vocabulary is not needed to read scores.
std::string EncodeChannels(const data::ChannelSet& channels);
absl::StatusOr<data::ChannelSet> DecodeChannels(std::string_view bytes);

std::string_view BytesOf(const std::vector<int64_t>& values);
std::string_view BytesOf(const std::vector<float>& values);
// kDataLoss: the size is not a multiple of a value's.
absl::StatusOr<std::vector<int64_t>> Int64sFrom(std::string_view bytes);
absl::StatusOr<std::vector<float>> FloatsFrom(std::string_view bytes);

// The checksum of a window's row: its key and everything in it.
uint32_t WindowCrc(const WindowRecord& record);

// The checksum of one instant's row.
uint32_t InstantCrc(const StreamKey& key, int64_t epoch, int64_t sequence,
                    const model::InstantScore& score,
                    std::string_view evidence);

}  // namespace telltale::server
