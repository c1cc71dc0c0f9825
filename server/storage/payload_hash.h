#pragma once

#include <cstdint>
#include <span>

#include "server/storage/score_store.h"

namespace telltale::server {

// SHA-256 over a window's content in the model's channel order: two windows
// have the same hash when they would be scored and stored alike. Missing
// samples must all be the same NaN.
PayloadHash HashPayload(std::span<const int64_t> time_ns,
                        std::span<const float> samples,
                        std::span<const int64_t> reception_time_ns);

}  // namespace telltale::server
