#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "data/channel.h"
#include "model/checkpoint/recording_sketch.h"
#include "model/checkpoint/safetensors.h"
#include "model/encoder_config.h"
#include "model/parameters.h"
#include "model/scaler.h"
#include "model/scoring/evidence.h"
#include "model/scoring/tail_curve.h"

namespace telltale::model {

// How the threshold was set and what it then did on held-out telemetry.
struct ThresholdRecord {
  float threshold = 0;        // a score above it is an anomaly
  double budget_per_10k = 5;  // false-alarm events per 10,000 instants
  int64_t instants = 0;       // held-out instants it was set on
  int64_t events = 0;         // alarms among them at the threshold
  // 95 % interval of the true rate per 10,000 given that count (Garwood 1936).
  double low_per_10k = 0;
  double high_per_10k = 0;
  // Where the encoder gives a verdict: a logit above it is an anomaly too.
  float verdict_logit = 0;
};

// Everything that scoring needs, in one file, so that a detector cannot have
// the wrong scaler or threshold.
struct Checkpoint {
  static constexpr int kFormatVersion = 3;

  data::ChannelSet channels;
  int64_t cadence_ns = 1;
  EncoderConfig config;
  Parameters parameters;
  Scaler scaler = {};
  Scoring scoring = {};
  TailCurve combined = {};  // from the largest evidence to the score
  ThresholdRecord threshold = {};
  // The same of scores that look ahead.
  TailCurve lagged_combined = {};
  ThresholdRecord lagged_threshold = {};
  // Scores of the held-out telemetry in order of time: what other thresholds
  // and smoothed scores are calibrated on.
  std::vector<float> nominal_scores = {};
  // Of all instants that it was trained or calibrated on; empty in files that
  // were written before there was one.
  RecordingSketch instants = {};
  // JSON objects: how it was trained, and what its card says.
  std::string training_record = "{}";
  std::string card = "{}";

  // kDataLoss: damaged. kFailedPrecondition: another format version.
  static absl::StatusOr<Checkpoint> FromFile(const TensorFile& file);
  TensorFile ToFile() const;

  // Reads and checks; `version`, when wanted, receives the SHA-256 of the
  // file's bytes. Errors name the path.
  static absl::StatusOr<Checkpoint> Load(const std::filesystem::path& path,
                                         std::string* version = nullptr);
  // Whole or not at all.
  absl::Status Save(const std::filesystem::path& path) const;
};

}  // namespace telltale::model
