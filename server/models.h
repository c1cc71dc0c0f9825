#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "model/detector.h"
#include "server/storage/score_store.h"

namespace telltale::server {

// The models that the server scores with, by name. Immutable, so that any
// thread may use it.
class Models {
 public:
  struct Entry {
    std::unique_ptr<const model::Detector> detector;
    std::shared_ptr<const ModelLabel> label;  // goes with stored scores
  };

  // kInvalidArgument: none, or two of the same name.
  static absl::StatusOr<Models> Create(
      std::vector<std::unique_ptr<const model::Detector>> detectors);

  // Loads each file, to score in that precision. Errors as Detector::Load and
  // Create.
  static absl::StatusOr<Models> Load(
      const std::vector<std::filesystem::path>& files,
      model::Precision precision);

  // An empty name means the only model. kNotFound: no such model, or an empty
  // name while there are several. The entry lives as long as this object.
  absl::StatusOr<const Entry*> Find(std::string_view name) const;
  // The model of that version, or null.
  const Entry* FindVersion(std::string_view version) const;

  const std::map<std::string, Entry, std::less<>>& entries() const {
    return entries_;
  }

 private:
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace telltale::server
