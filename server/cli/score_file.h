#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "data/series.h"

namespace telltale::server {

// A score table (score_table.h) read back, or one of another detector in the
// same form.
struct ScoreFile {
  data::TimeForm time_form = data::TimeForm::kSeconds;
  std::vector<int64_t> time_ns;  // rising
  // Instants without a score have the lowest one of the file.
  std::vector<float> scores;
  std::vector<uint8_t> alarms;  // 1: the detector calls it an anomaly
  int scored = 0;               // instants with a score
  int trained = 0;  // instants that the model was trained or calibrated on
  // The last one told; none where there is no such column.
  std::optional<float> threshold;
  bool has_causes = false;  // whether there are cause columns
  // What alarmed instants point back to, strongest first, by their index.
  std::map<int, std::vector<int64_t>> causes_ns;
  // By how much the residuals of alarmed instants change without those, and
  // without random ones (model::MaskingCheck), by their index.
  struct Masking {
    float pointed = 0;
    float random = 0;
  };
  std::map<int, Masking> masking;
  // For each instant the channel with the largest share, as an index of
  // channel_names, -1 for none; empty where there is no such column.
  std::vector<int> top_channel;
  std::vector<std::string> channel_names;
  // Which of several segments it is of; none: of the only one.
  std::optional<int> segment;

  int length() const { return static_cast<int>(time_ns.size()); }
};

// Reads the columns time, score, anomaly and, where they are, threshold,
// channel, cause_time, cause2_time to cause5_time, masking_pointed,
// masking_random, trained and segment; others are passed over.
//
// kNotFound, kPermissionDenied: cannot be opened. kInvalidArgument, naming
// file, line, column and text: a column that is missing or stands twice, time
// that does not rise or changes its form, a score that is no number, an anomaly
// or trained that is not 0 or 1, one half of a masking check without the other,
// a second segment; no row, or none with a score.
absl::StatusOr<ScoreFile> ReadScoreFile(const std::string& path);

}  // namespace telltale::server
