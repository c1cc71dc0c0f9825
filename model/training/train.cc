#include "model/training/train.h"

#include <algorithm>
#include <cmath>
#include <malloc.h>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

#include "data/channel_summary.h"
#include "model/checkpoint/sha256.h"
#include "model/scoring/calibration.h"
#include "model/scoring/verdict_threshold.h"
#include "model/training/division.h"
#include "model/training/held_out.h"
#include "model/training/trainer.h"

namespace telltale::model {
namespace {

// Segments must hold so many instants for there to be something to learn and
// something to hold out.
constexpr int kLeastInstants = 200;

// The least that one of several segments may hold.
constexpr int kLeastSegment = 64;

// How far the context of segments that are dealt whole may reach.
constexpr int kLeastReach = 64;
constexpr int kMostReach = 512;

// Steps by the amount of data: one for every so many instants, within bounds.
// Measured on the simulated engine: from 75,000 instants held-out loss still
// falls at the end of 1,000 steps, from 300,000 at that of 4,000.
constexpr int kInstantsPerStep = 75;
constexpr int kLeastSteps = 600;
constexpr int kMostSteps = 4'000;
// The window that those are steps of.
constexpr int kUsualWindow = 512;

// Noise on the inputs stands in for what few instants do not show. Beyond so
// many it only blurs what the others tell, and falls off by the square.
constexpr double kTellingInstants = 75'000;

absl::Status CheckSegments(std::span<const data::Series> segments) {
  if (segments.empty()) {
    return absl::InvalidArgumentError("there is no telemetry to train on");
  }
  int64_t instants = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].channels != segments[0].channels) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s has other channels than %s: names, units, kinds and order must "
          "be the same",
          NameOf(segments, static_cast<int>(i)), NameOf(segments, 0)));
    }
    if (segments.size() > 1 && segments[i].length() < kLeastSegment) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s has %d instants; training needs %d of each "
                          "recording: give a longer one, or leave it out",
                          NameOf(segments, static_cast<int>(i)),
                          segments[i].length(), kLeastSegment));
    }
    instants += segments[i].length();
  }
  if (instants < kLeastInstants) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: %d instants in all; training needs %d, and "
                        "thousands to be good: record for longer",
                        NameOf(segments, 0), instants, kLeastInstants));
  }
  return absl::OkStatus();
}

// Names as in a training configuration.
std::vector<std::string> LeftOut(const EvidenceParts& parts) {
  const std::pair<const char*, bool> all[] = {
      {"explaining", parts.explaining}, {"magnitude", parts.magnitude},
      {"average", parts.average},       {"absence", parts.absence},
      {"level", parts.level},           {"slow", parts.slow},
      {"novelty", parts.novelty}};
  std::vector<std::string> names;
  for (const auto& [name, kept] : all) {
    if (!kept) names.emplace_back(name);
  }
  return names;
}

absl::Status CheckEvidence(const EvidenceParts& parts) {
  if (parts.magnitude || parts.average || parts.absence || parts.level ||
      parts.slow || parts.novelty) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "training setting evidence leaves out every view, so that nothing could "
      "be an anomaly; keep at least one of magnitude, average, absence, level, "
      "slow and novelty");
}

absl::Status CheckOptions(const TrainingOptions& options) {
  const auto refused = [](const char* name, double value, const char* wanted) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "training setting %s is %g; it must be %s", name, value, wanted));
  };
  const auto positive = [](double value) {
    return value > 0 && std::isfinite(value);
  };
  if (!(options.held_out > 0 && options.held_out < 1)) {
    return refused("held_out", options.held_out, "between 0 and 1");
  }
  if (options.batch < 1) return refused("batch", options.batch, "1 or more");
  if (!positive(options.learning_rate)) {
    return refused("learning_rate", options.learning_rate, "above 0");
  }
  if (!positive(options.clip_norm)) {
    return refused("clip_norm", options.clip_norm, "above 0");
  }
  if (!positive(options.false_alarms_per_10k)) {
    return refused("false_alarms_per_10k", options.false_alarms_per_10k,
                   "above 0");
  }
  if (auto s = CheckEvidence(options.evidence); !s.ok()) return s;
  // The channels decide these two; the rest can be checked before.
  EncoderConfig encoder = options.encoder;
  encoder.input_width = 1;
  encoder.targets = 1;
  return encoder.Validate();
}

absl::Status CheckSamples(std::span<const data::Series> segments,
                          std::span<const int> targets) {
  if (targets.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: none of the channels is continuous, so that there is nothing to "
        "forecast; declare one with [channels.NAME] kind = \"continuous\"",
        NameOf(segments, 0)));
  }
  const auto summaries = data::SummariseChannels(segments);
  if (std::ranges::any_of(targets, [&](int channel) {
        return summaries[static_cast<size_t>(channel)].samples > 0;
      })) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s: none of the continuous channels has a sample, all are missing; "
      "give a recording that holds some",
      NameOf(segments, 0)));
}

Scaler FitScaler(std::span<const data::Series> segments,
                 const Division& division) {
  std::vector<Scaler::Part> parts;
  for (const Range& range : division.training) {
    parts.push_back({&segments[static_cast<size_t>(range.segment)], range.begin,
                     range.end});
  }
  return Scaler::Fit(segments[0].channels, parts);
}

// Faults that are all held out teach nothing.
absl::Status CheckLabels(const FaultLabels& labels, const Division& division) {
  const auto shows = [&labels](const Range& range) {
    return labels.CountInstants(range) > 0;
  };
  if (labels.empty() || std::ranges::any_of(division.training, shows)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "every labelled fault lies in the part that is held out: give more "
      "faults, or hold out less");
}

// SHA-256 over the raw samples and time stamps of all segments.
absl::StatusOr<std::string> HashData(std::span<const data::Series> segments) {
  std::string digests;
  for (const data::Series& series : segments) {
    for (const std::string_view bytes :
         {std::string_view(reinterpret_cast<const char*>(series.time_ns.data()),
                           series.time_ns.size() * sizeof(int64_t)),
          std::string_view(reinterpret_cast<const char*>(series.samples.data()),
                           series.samples.size() * sizeof(float))}) {
      auto digest = Sha256Hex(bytes);
      if (!digest.ok()) return digest.status();
      digests += *digest;
    }
  }
  return Sha256Hex(digests);
}

// What was seen of the channels, in their order and units.
nlohmann::json DescribeChannels(std::span<const data::Series> segments) {
  nlohmann::json described = {{"missing", nlohmann::json::array()},
                              {"lowest", nlohmann::json::array()},
                              {"highest", nlohmann::json::array()}};
  for (const data::ChannelSummary& summary :
       data::SummariseChannels(segments)) {
    const bool any = summary.samples > 0;
    described["missing"].push_back(summary.missing);
    described["lowest"].push_back(any ? nlohmann::json(summary.lowest)
                                      : nlohmann::json());
    described["highest"].push_back(any ? nlohmann::json(summary.highest)
                                       : nlohmann::json());
  }
  return described;
}

std::string RecordTraining(std::span<const data::Series> segments,
                           const FaultLabels& labels,
                           const TrainingOptions& options,
                           const Trainer::Outcome& outcome,
                           const std::string& data_hash) {
  int64_t instants = 0;
  int64_t first_time_ns = segments.front().time_ns.front();
  int64_t last_time_ns = first_time_ns;
  int64_t labelled = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    const data::Series& series = segments[i];
    instants += series.length();
    labelled += labels.CountInstants({static_cast<int>(i), 0, series.length()});
    first_time_ns = std::min(first_time_ns, series.time_ns.front());
    last_time_ns = std::max(last_time_ns, series.time_ns.back());
  }
  nlohmann::json record = {
      {"segments", segments.size()},
      {"instants", instants},
      {"first_time_ns", first_time_ns},
      {"last_time_ns", last_time_ns},
      {"data_sha256", data_hash},
      {"seed", options.seed},
      {"held_out", options.held_out},
      {"batch", options.batch},
      {"learning_rate", options.learning_rate},
      {"input_noise", options.input_noise},
      {"steps", outcome.steps},
      {"best_step", outcome.best_step},
      {"loss", outcome.loss},
      {"held_out_loss", outcome.held_out_loss},
      {"stopped_early", outcome.stopped},
      {"channels", DescribeChannels(segments)},
  };
  if (!labels.empty()) record["labelled_instants"] = labelled;
  const std::vector<std::string> left_out = LeftOut(options.evidence);
  if (!left_out.empty()) record["evidence_left_out"] = left_out;
  return record.dump();
}

// Where segments are dealt whole, how far back an instant may look is how long
// they are: the default would be blind to what a longer segment holds, and
// learn nothing of distances that a shorter one has not.
EncoderConfig FitReach(std::span<const data::Series> segments,
                       const EncoderConfig& given, const Division& division) {
  EncoderConfig encoder = given;
  if (!division.whole || given.layers != EncoderConfig().layers) return encoder;
  int longest = 0;
  for (const data::Series& series : segments) {
    longest = std::max(longest, series.length());
  }
  encoder.layers.back().reach = std::clamp(longest, kLeastReach, kMostReach);
  return encoder;
}

TrainingOptions Resolve(std::span<const data::Series> segments,
                        const TrainingOptions& given,
                        const Division& division) {
  TrainingOptions options = given;
  options.encoder = FitReach(segments, given.encoder, division);
  if (options.threads <= 0) {
    options.threads =
        std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  if (options.window <= 0)
    options.window = 2 * options.encoder.context_length();
  int longest = 0;
  for (const Range& range : division.training) {
    longest = std::max(longest, range.length());
  }
  // In a short series windows of half its length still differ. Segments differ
  // by themselves.
  options.window = std::min(
      options.window, division.whole ? longest : std::max(64, longest / 2));
  if (options.steps <= 0) {
    options.steps = static_cast<int>(
        std::clamp<int64_t>(division.training_instants / kInstantsPerStep,
                            kLeastSteps, kMostSteps));
    // Of short segments a step sees less.
    if (division.whole) {
      options.steps *= std::max(1, kUsualWindow / options.window);
    }
  }
  options.warm_up_steps = std::min(options.warm_up_steps, options.steps / 2);
  const double few = std::min(
      1.0, kTellingInstants / static_cast<double>(division.training_instants));
  options.input_noise *= few * few;
  return options;
}

}  // namespace

absl::StatusOr<Checkpoint> Train(std::span<const data::Series> segments,
                                 const TrainingOptions& options,
                                 const ProgressFunction& progress) {
  return Train(segments, FaultLabels(), options, progress);
}

absl::StatusOr<Checkpoint> Train(std::span<const data::Series> segments,
                                 const FaultLabels& labels,
                                 const TrainingOptions& given,
                                 const ProgressFunction& progress) {
  if (auto s = CheckOptions(given); !s.ok()) return s;
  if (auto s = CheckSegments(segments); !s.ok()) return s;
  const absl::StatusOr<Division> divided =
      Divide(segments, labels, given.held_out, given.encoder);
  if (!divided.ok()) return divided.status();
  const Division& division = *divided;
  if (auto s = CheckLabels(labels, division); !s.ok()) return s;
  TrainingOptions options = Resolve(segments, given, division);

  const data::ChannelSet& channels = segments[0].channels;
  Scaler scaler = FitScaler(segments, division);
  const InputEncoding encoding(channels, scaler);
  if (auto s = CheckSamples(segments, encoding.targets()); !s.ok()) return s;
  options.encoder.input_width = encoding.width();
  options.encoder.targets = static_cast<int>(encoding.targets().size());
  options.encoder.verdict = !labels.empty();
  if (auto s = options.encoder.Validate(); !s.ok()) return s;
  auto data_hash = HashData(segments);
  if (!data_hash.ok()) return data_hash.status();

  Checkpoint checkpoint{
      .channels = channels,
      .cadence_ns = segments[0].CadenceNs(),
      .config = options.encoder,
      .parameters = Parameters(options.encoder, encoding.stand_ins()),
      .scaler = std::move(scaler)};
  checkpoint.parameters.Initialize(options.seed);
  std::optional<Trainer> trainer(std::in_place, segments, labels, options,
                                 checkpoint);
  auto outcome = trainer->Run(division.training, division.held_out,
                              options.steps, progress);
  if (!outcome.ok()) return outcome.status();
  const HeldOut held_out = CollectHeldOut(
      *trainer, labels, options.encoder.horizons.back(),
      PlanCalibration(segments, labels, options.encoder, division));
  // Calibration needs the memory more. The allocator would keep it.
  trainer.reset();
  malloc_trim(0);
  Calibrate(held_out.residuals, options.false_alarms_per_10k, options.evidence,
            checkpoint);
  checkpoint.threshold.verdict_logit =
      VerdictThreshold(held_out.verdicts, options.false_alarms_per_10k);
  for (const data::Series& series : segments) checkpoint.instants.Add(series);
  checkpoint.training_record =
      RecordTraining(segments, labels, options, *outcome, *data_hash);
  return checkpoint;
}

}  // namespace telltale::model
