#include "model/training/train.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

#include "model/checkpoint/sha256.h"
#include "model/positions.h"
#include "model/training/trainer.h"

namespace telltale::model {
namespace {

// A segment must hold so many instants for there to be something to learn and
// something to hold out.
constexpr int kLeastInstants = 200;

// And so many of them must be left for training.
constexpr int kLeastTrainingInstants = 64;

// Instants before the held-out ones whose residuals tell what shocks look
// like; more add time and nothing else.
constexpr int kShockInstants = 50'000;

// Steps by the amount of data: one for every so many instants, within bounds.
// Measured on the simulated engine: from 75,000 instants held-out loss is least
// after 700 steps and rises from 1,000 on; from 300,000 it still falls at
// 2,400.
constexpr int kInstantsPerStep = 100;
constexpr int kLeastSteps = 600;
constexpr int kMostSteps = 4'000;

absl::Status CheckSegments(std::span<const data::Series> segments) {
  if (segments.empty()) {
    return absl::InvalidArgumentError("there is no telemetry to train on");
  }
  for (size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].channels != segments[0].channels) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "segment %d has other channels than segment 1: names, units, kinds "
          "and order must be the same",
          i + 1));
    }
    if (segments[i].length() < kLeastInstants) {
      return absl::InvalidArgumentError(
          absl::StrFormat("segment %d has %d instants; training needs %d",
                          i + 1, segments[i].length(), kLeastInstants));
    }
  }
  return absl::OkStatus();
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
  // The channels decide these two; the rest can be checked before.
  EncoderConfig encoder = options.encoder;
  encoder.input_width = 1;
  encoder.targets = 1;
  return encoder.Validate();
}

// How the segments are divided by time.
struct Division {
  std::vector<Range> training, held_out;
  int64_t training_instants = 0;
};

// The number of instants before `split` whose targets all lie before it too:
// no target of the training part may be a held-out instant, however densely
// sampled.
int TrainingEnd(const data::Series& series, int64_t cadence_ns, int split,
                int longest_horizon) {
  const auto position = [&](int t) {
    return Position(series.time_ns[static_cast<size_t>(t)], cadence_ns);
  };
  int end = split;
  while (end > 0 &&
         position(end - 1) + longest_horizon + kSameInstant > position(split)) {
    --end;
  }
  return end;
}

// kInvalidArgument: a segment of which too little is left to train on.
absl::StatusOr<Division> Divide(std::span<const data::Series> segments,
                                double held_out, int longest_horizon) {
  Division division;
  for (size_t i = 0; i < segments.size(); ++i) {
    const int length = segments[i].length();
    const int split = length - static_cast<int>(held_out * length);
    const int end = TrainingEnd(segments[i], segments[0].CadenceNs(), split,
                                longest_horizon);
    if (end < kLeastTrainingInstants) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "segment %d leaves %d instants to train on, of %d; %d are needed: "
          "give a longer segment, hold out less, or forecast less far ahead",
          i + 1, end, length, kLeastTrainingInstants));
    }
    division.training.push_back({static_cast<int>(i), 0, end});
    division.held_out.push_back({static_cast<int>(i), split, length});
    division.training_instants += end;
  }
  return division;
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

std::string RecordTraining(std::span<const data::Series> segments,
                           const TrainingOptions& options,
                           const Trainer::Outcome& outcome,
                           const std::string& data_hash) {
  int64_t instants = 0;
  int64_t first_time_ns = segments.front().time_ns.front();
  int64_t last_time_ns = first_time_ns;
  for (const data::Series& series : segments) {
    instants += series.length();
    first_time_ns = std::min(first_time_ns, series.time_ns.front());
    last_time_ns = std::max(last_time_ns, series.time_ns.back());
  }
  const nlohmann::json record = {
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
  };
  return record.dump();
}

TrainingOptions Resolve(const TrainingOptions& given,
                        const Division& division) {
  TrainingOptions options = given;
  if (options.threads <= 0) {
    options.threads =
        std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  if (options.steps <= 0) {
    options.steps = static_cast<int>(
        std::clamp<int64_t>(division.training_instants / kInstantsPerStep,
                            kLeastSteps, kMostSteps));
  }
  options.warm_up_steps = std::min(options.warm_up_steps, options.steps / 2);
  if (options.window <= 0)
    options.window = 2 * options.encoder.context_length();
  int longest = 0;
  for (const Range& range : division.training) {
    longest = std::max(longest, range.length());
  }
  // In a short series windows of half its length still differ.
  options.window = std::min(options.window, std::max(64, longest / 2));
  return options;
}

std::vector<SegmentResiduals> CollectResiduals(Trainer& trainer,
                                               const Division& division) {
  std::vector<SegmentResiduals> collected;
  for (size_t i = 0; i < division.training.size(); ++i) {
    const Range& held_out = division.held_out[i];
    const int begin = std::max(0, held_out.begin - kShockInstants);
    SegmentResiduals segment;
    segment.residuals =
        trainer.Residuals({held_out.segment, begin, held_out.end});
    segment.held_out_begin = held_out.begin - begin;
    collected.push_back(std::move(segment));
  }
  return collected;
}

}  // namespace

absl::StatusOr<Checkpoint> Train(std::span<const data::Series> segments,
                                 const TrainingOptions& given,
                                 const ProgressFunction& progress) {
  if (auto s = CheckOptions(given); !s.ok()) return s;
  if (auto s = CheckSegments(segments); !s.ok()) return s;
  const absl::StatusOr<Division> divided =
      Divide(segments, given.held_out, given.encoder.horizons.back());
  if (!divided.ok()) return divided.status();
  const Division& division = *divided;
  TrainingOptions options = Resolve(given, division);

  const data::ChannelSet& channels = segments[0].channels;
  Scaler scaler = FitScaler(segments, division);
  const InputEncoding encoding(channels, scaler);
  if (encoding.targets().empty()) {
    return absl::InvalidArgumentError(
        "none of the channels is continuous; there is nothing to forecast");
  }
  options.encoder.input_width = encoding.width();
  options.encoder.targets = static_cast<int>(encoding.targets().size());
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
  Trainer trainer(segments, options, checkpoint);
  auto outcome = trainer.Run(division.training, division.held_out,
                             options.steps, progress);
  if (!outcome.ok()) return outcome.status();
  Calibrate(CollectResiduals(trainer, division), options.false_alarms_per_10k,
            checkpoint);
  for (const data::Series& series : segments) checkpoint.instants.Add(series);
  checkpoint.training_record =
      RecordTraining(segments, options, *outcome, *data_hash);
  return checkpoint;
}

}  // namespace telltale::model
