// telltale evaluate: says how good scores are, given the labels.

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include <CLI/CLI.hpp>

#include "data/labels.h"
#include "data/series_reader.h"
#include "data/time_stamp.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/file_io.h"
#include "model/checkpoint/recording_sketch.h"
#include "model/checkpoint/sha256.h"
#include "model/evaluation/baselines.h"
#include "server/cli/card_markdown.h"
#include "server/cli/commands.h"
#include "server/cli/evaluation.h"
#include "server/cli/evaluation_record.h"
#include "server/cli/evaluation_table.h"
#include "server/cli/failure.h"
#include "server/cli/output_paths.h"
#include "server/cli/score_file.h"

namespace telltale::server {
namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;
// The width that the simulated engine's effects call for.
constexpr int kBuffer = 40;
constexpr int kWidestBuffer = 10000;

struct EvaluateFlags {
  std::string scores;
  std::string labels;
  std::string data;
  std::string nominal;
  std::string model;
  std::string card;
  int buffer = kBuffer;
  bool include_training = false;
  bool json = false;
};

// An error in a file, which messages name unless they do already.
absl::Status About(const std::string& file, const absl::Status& status) {
  return absl::Status(
      status.code(),
      absl::StrFormat("%s: %s", file, std::string(status.message())));
}

std::string CardOf(const EvaluateFlags& flags) {
  return flags.card.empty() ? CardPath(flags.model) : flags.card;
}

// The model is read too, but rewritten from what was read of it.
absl::Status CheckFiles(const EvaluateFlags& flags) {
  if (flags.model.empty()) return absl::OkStatus();
  const std::vector<OutputPath> outputs = {{"--model", flags.model},
                                           {"--card", CardOf(flags)}};
  const std::vector<std::string> inputs = {flags.scores, flags.labels,
                                           flags.data, flags.nominal};
  return CheckOutputs(outputs, inputs);
}

// Figures of what was learnt from say nothing of what is to come.
absl::Status CheckUnseen(const EvaluateFlags& flags, const ScoreFile& scores) {
  if (scores.trained == 0 || flags.include_training) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "%s: the model was trained or calibrated on %d of the %d instants "
      "(column trained), so that figures would flatter it; score other "
      "telemetry, or count those instants all the same with --include-training",
      flags.scores, scores.trained, scores.length()));
}

// The same of baselines.
absl::Status CheckUnseen(const EvaluateFlags& flags,
                         const data::Series& nominal,
                         const data::Series& series) {
  if (flags.include_training) return absl::OkStatus();
  model::RecordingSketch sketch;
  sketch.Add(nominal);
  model::SharedInstants shared(sketch);
  for (int t = 0; t < series.length(); ++t) {
    shared.Push(series.time_ns[t], series.Instant(t));
  }
  if (!shared.overlap()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "--nominal: %s shares instants with %s, from %s to %s; baselines must "
      "not be fitted on what they are evaluated on: give other telemetry, or "
      "count those instants all the same with --include-training",
      flags.nominal, flags.data,
      data::FormatTimeStamp(shared.first_time_ns(), series.time_form),
      data::FormatTimeStamp(shared.last_time_ns(), series.time_form)));
}

absl::StatusOr<std::vector<model::Baseline>> Baselines(
    const EvaluateFlags& flags, const ScoreFile& scores) {
  if (flags.data.empty()) return std::vector<model::Baseline>();
  std::error_code ignored;
  if (flags.data == flags.nominal ||
      std::filesystem::equivalent(flags.data, flags.nominal, ignored)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--data and --nominal both name %s; baselines must not "
                        "be fitted on what they are evaluated on",
                        flags.data));
  }
  const auto series = data::ReadSeries(flags.data);
  if (!series.ok()) return series.status();
  if (series->time_ns != scores.time_ns) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s has %d instants and %s %d rows, or other time stamps; give the "
        "telemetry that was scored",
        flags.data, series->length(), flags.scores, scores.length()));
  }
  const auto nominal = data::ReadSeries(flags.nominal);
  if (!nominal.ok()) return nominal.status();
  if (absl::Status status = CheckUnseen(flags, *nominal, *series);
      !status.ok()) {
    return status;
  }
  auto baselines = model::TrivialBaselines(*nominal, *series);
  if (!baselines.ok()) return About(flags.nominal, baselines.status());
  return baselines;
}

// The labels of the segment that was scored, and those that name none.
std::vector<data::LabelledEvent> LabelsOf(
    const ScoreFile& scores, std::vector<data::LabelledEvent> labels) {
  std::erase_if(labels, [&](const data::LabelledEvent& label) {
    return label.segment && *label.segment != scores.segment.value_or(0);
  });
  return labels;
}

// That the scores are the model's: its thresholds are told beside each.
absl::Status CheckModel(const EvaluateFlags& flags, const ScoreFile& scores,
                        const model::Checkpoint& checkpoint) {
  if (!scores.threshold ||
      *scores.threshold == checkpoint.threshold.threshold ||
      *scores.threshold == checkpoint.lagged_threshold.threshold) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "--model: %s has a threshold of %g and the scores of %s one of %g; give "
      "the model that scored them",
      flags.model, checkpoint.threshold.threshold, flags.scores,
      *scores.threshold));
}

std::string FileName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// Adds the figures to the model's card, in its file and as Markdown.
absl::Status Record(const EvaluateFlags& flags, const Evaluation& evaluation,
                    model::Checkpoint& checkpoint) {
  constexpr size_t kMostLabelBytes = size_t{1} << 30;
  const auto labels = model::ReadFile(flags.labels, kMostLabelBytes);
  if (!labels.ok()) return About(flags.labels, labels.status());
  const auto hash = model::Sha256Hex(*labels);
  if (!hash.ok()) return hash.status();
  checkpoint.card = WithEvaluation(checkpoint.card,
                                   {.scores = FileName(flags.scores),
                                    .labels = FileName(flags.labels),
                                    .labels_sha256 = *hash,
                                    .data = FileName(flags.data),
                                    .nominal = FileName(flags.nominal)},
                                   evaluation);
  if (auto s = checkpoint.Save(flags.model); !s.ok()) return s;
  const std::string card = CardOf(flags);
  if (auto s = WriteCard(checkpoint, flags.model, card); !s.ok()) return s;
  std::cerr << "added to " << flags.model << " and " << card << '\n';
  return absl::OkStatus();
}

absl::Status RunEvaluate(const EvaluateFlags& flags) {
  const absl::StatusOr<ScoreFile> scores = ReadScoreFile(flags.scores);
  if (!scores.ok()) return scores.status();
  if (absl::Status status = CheckUnseen(flags, *scores); !status.ok()) {
    return status;
  }
  std::optional<model::Checkpoint> checkpoint;
  if (!flags.model.empty()) {
    auto loaded = model::Checkpoint::Load(flags.model);
    if (!loaded.ok()) return loaded.status();
    checkpoint = *std::move(loaded);
    if (auto s = CheckModel(flags, *scores, *checkpoint); !s.ok()) return s;
  }
  const auto labels = data::ReadLabels(flags.labels);
  if (!labels.ok()) return labels.status();
  const auto baselines = Baselines(flags, *scores);
  if (!baselines.ok()) return baselines.status();
  const absl::StatusOr<Evaluation> evaluation =
      Evaluate(*scores, LabelsOf(*scores, *labels), *baselines, flags.buffer);
  if (!evaluation.ok()) return About(flags.labels, evaluation.status());
  std::cout << (flags.json ? EvaluationJson(*evaluation)
                           : EvaluationText(*evaluation))
            << std::flush;
  if (!std::cout) {
    return absl::DataLossError("standard output cannot be written");
  }
  if (!checkpoint) return absl::OkStatus();
  return Record(flags, *evaluation, *checkpoint);
}

}  // namespace

void AddEvaluateCommand(CLI::App& app, CommandResult& result) {
  CLI::App* command = app.add_subcommand(
      "evaluate",
      "Measure scores against labels: detection, events, and whether anomalies "
      "point back to their causes, beside control lines");
  const auto flags = std::make_shared<EvaluateFlags>();
  command
      ->add_option("--scores", flags->scores,
                   "The table that `telltale score` wrote, as CSV")
      ->required();
  command
      ->add_option("--labels", flags->labels,
                   "CSV with the columns start,end and optionally "
                   "cause_start,cause_end,cause_channel,kind,channel,segment; "
                   "both ends count")
      ->required();
  command
      ->add_option("--buffer", flags->buffer,
                   "The widest ramp about a label, in instants, for VUS")
      ->check(CLI::Range(0, kWidestBuffer))
      ->capture_default_str();
  CLI::Option* data = command->add_option(
      "--data", flags->data,
      "The telemetry that was scored: adds one-line detectors, robust z and "
      "PCA as control lines");
  CLI::Option* nominal = command->add_option(
      "--nominal", flags->nominal,
      "Other telemetry of the same channels, to fit those on");
  data->needs(nominal);
  nominal->needs(data);
  CLI::Option* model = command->add_option(
      "--model", flags->model,
      "The model that gave the scores: adds the figures to its card, in the "
      "file, whose version changes by it, and beside it as Markdown");
  command
      ->add_option("--card", flags->card,
                   "Where to write the card instead of NAME.card.md")
      ->needs(model);
  command->add_flag("--include-training", flags->include_training,
                    "Count instants that the model or the baselines were "
                    "fitted on as well; refused otherwise");
  command->add_flag("--json", flags->json, "Print one JSON object");
  command->callback([flags, &result] {
    absl::Status status = CheckFiles(*flags);
    if (!status.ok()) {
      result.exit_code = kUsage;
    } else {
      status = RunEvaluate(*flags);
      if (!status.ok()) result.exit_code = kFailure;
    }
    if (!status.ok()) PrintFailure(status);
  });
}

}  // namespace telltale::server
