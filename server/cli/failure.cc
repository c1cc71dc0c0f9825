#include "server/cli/failure.h"

#include <cstddef>
#include <iostream>

#include "server/printable.h"

namespace telltale::server {
namespace {

// A message with the longest path that a system has.
constexpr size_t kMaxMessageBytes = 6000;

}  // namespace

void PrintFailure(const absl::Status& status) {
  std::cerr << "telltale: "
            << Printable({status.message().data(), status.message().size()},
                         kMaxMessageBytes)
            << '\n';
}

}  // namespace telltale::server
