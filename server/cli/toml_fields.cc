#include "server/cli/toml_fields.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace telltale::server {
namespace {

// Reads one value into the target that a field has. Each overload returns what
// was expected when the value is not that, else nothing.
struct ValueReader {
  const toml::node& node;
  const TomlField& field;

  std::string operator()(std::nullptr_t) const { return ""; }

  std::string operator()(int* target) const {
    const auto value = node.value_exact<int64_t>();
    if (!value || !InRange(static_cast<double>(*value))) return Whole();
    *target = static_cast<int>(*value);
    return "";
  }

  std::string operator()(uint64_t* target) const {
    const auto value = node.value_exact<int64_t>();
    if (!value || *value < 0) return "a whole number from 0 to 2^63 - 1";
    *target = static_cast<uint64_t>(*value);
    return "";
  }

  std::string operator()(double* target) const {
    const auto value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value || !InRange(*value)) {
      return absl::StrFormat("a number from %g to %g", field.least, field.most);
    }
    *target = *value;
    return "";
  }

  std::string operator()(bool* target) const {
    const auto value = node.value_exact<bool>();
    if (!value) return "true or false";
    *target = *value;
    return "";
  }

  std::string operator()(std::string* target) const {
    const auto value = node.value_exact<std::string>();
    if (!value) return "text in quotes";
    *target = *value;
    return "";
  }

  std::string operator()(std::vector<int>* target) const {
    const toml::array* list = node.as_array();
    std::vector<int> numbers;
    for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const auto value = list->get(i)->value_exact<int64_t>();
      if (!value || !InRange(static_cast<double>(*value))) break;
      numbers.push_back(static_cast<int>(*value));
    }
    if (list == nullptr || list->empty() || numbers.size() != list->size()) {
      return absl::StrFormat("a list, not empty, of %ss", Whole().substr(2));
    }
    *target = std::move(numbers);
    return "";
  }

  // Written so that NaN is out of range.
  bool InRange(double value) const {
    return value >= field.least && value <= field.most;
  }
  std::string Whole() const {
    return absl::StrFormat("a whole number from %.0f to %.0f", field.least,
                           field.most);
  }
};

std::string KnownNames(const std::vector<TomlField>& fields) {
  std::string names;
  for (const TomlField& field : fields) {
    names += absl::StrFormat("%s%s", names.empty() ? "" : ", ", field.name);
  }
  return names;
}

}  // namespace

absl::Status TomlError(const std::string& path,
                       const toml::source_region& source,
                       std::string_view what) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s:%d:%d: %s", path, source.begin.line, source.begin.column, what));
}

absl::StatusOr<const toml::table*> TomlTable(const std::string& path,
                                             const toml::node& node,
                                             std::string_view what) {
  if (const toml::table* table = node.as_table()) return table;
  return TomlError(
      path, node.source(),
      absl::StrFormat("%s is not a table; write it as [%s]", what, what));
}

absl::Status ReadTomlFields(const std::string& path, const toml::table& table,
                            std::string_view section,
                            const std::vector<TomlField>& fields) {
  for (const auto& [key, node] : table) {
    const auto field = std::find_if(
        fields.begin(), fields.end(),
        [&key = key](const TomlField& f) { return f.name == key.str(); });
    if (field == fields.end()) {
      return TomlError(
          path, key.source(),
          absl::StrFormat("%s has no setting '%s'; it has %s", section,
                          std::string(key.str()), KnownNames(fields)));
    }
    const std::string expected =
        std::visit(ValueReader{node, *field}, field->target);
    if (!expected.empty()) {
      return TomlError(
          path, node.source(),
          absl::StrFormat("%s: expected %s", std::string(key.str()), expected));
    }
  }
  return absl::OkStatus();
}

}  // namespace telltale::server
