#pragma once

#include "absl/status/status.h"

namespace telltale::server {

// Says on standard error why a command failed, on one line whatever the names
// and files that the message repeats.
void PrintFailure(const absl::Status& status);

}  // namespace telltale::server
