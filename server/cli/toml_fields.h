#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <toml++/toml.h>

namespace telltale::server {

// One key of a TOML table and where its value goes.
struct TomlField {
  std::string_view name;
  // Null: the key is allowed, and read by somebody else.
  std::variant<std::nullptr_t, int*, uint64_t*, double*, bool*, std::string*,
               std::vector<int>*>
      target;
  // Of numbers, both ends included.
  double least = 0;
  double most = 1e9;
};

// An InvalidArgumentError that begins with "path:line:column: ".
absl::Status TomlError(const std::string& path,
                       const toml::source_region& source,
                       std::string_view what);

// `node` as a table; `what` names it in the error.
absl::StatusOr<const toml::table*> TomlTable(const std::string& path,
                                             const toml::node& node,
                                             std::string_view what);

// Reads the fields that are there. `section` names the table in errors: about
// keys that no field has, and values of another type or out of range.
absl::Status ReadTomlFields(const std::string& path, const toml::table& table,
                            std::string_view section,
                            const std::vector<TomlField>& fields);

}  // namespace telltale::server
