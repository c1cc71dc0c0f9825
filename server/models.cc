#include "server/models.h"

#include <utility>

#include "absl/strings/str_format.h"

#include "server/printable.h"

namespace telltale::server {

absl::StatusOr<Models> Models::Create(
    std::vector<std::unique_ptr<const model::Detector>> detectors) {
  if (detectors.empty()) {
    return absl::InvalidArgumentError("there is no model to score with");
  }
  Models models;
  for (std::unique_ptr<const model::Detector>& detector : detectors) {
    const model::ModelDescription& description = detector->description();
    const std::string name = description.name;
    auto label = std::make_shared<const ModelLabel>(
        ModelLabel{name, description.version, description.channels});
    const bool is_new =
        models.entries_
            .try_emplace(name, Entry{std::move(detector), std::move(label)})
            .second;
    if (!is_new) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "two models are called '%s' (a model is called after its file); "
          "rename one",
          Printable(name)));
    }
  }
  return models;
}

absl::StatusOr<Models> Models::Load(
    const std::vector<std::filesystem::path>& files,
    model::Precision precision) {
  std::vector<std::unique_ptr<const model::Detector>> detectors;
  for (const std::filesystem::path& file : files) {
    absl::StatusOr<std::unique_ptr<const model::Detector>> detector =
        model::Detector::Load(file, precision);
    if (!detector.ok()) return detector.status();
    detectors.push_back(std::move(*detector));
  }
  return Create(std::move(detectors));
}

absl::StatusOr<const Models::Entry*> Models::Find(std::string_view name) const {
  if (name.empty() && entries_.size() == 1) return &entries_.begin()->second;
  if (const auto found = entries_.find(name); found != entries_.end()) {
    return &found->second;
  }
  std::string known;
  for (const auto& [known_name, entry] : entries_) {
    known += known.empty() ? "" : ", ";
    known += Printable(known_name);
  }
  return absl::NotFoundError(absl::StrFormat(
      "there is no model '%s'; known: %s", Printable(name), known));
}

const Models::Entry* Models::FindVersion(std::string_view version) const {
  for (const auto& [name, entry] : entries_) {
    if (entry.label->version == version) return &entry;
  }
  return nullptr;
}

}  // namespace telltale::server
