// telltale score: scores a recording with a model, one row an instant.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include <CLI/CLI.hpp>

#include "data/labels.h"
#include "model/checkpoint/checkpoint.h"
#include "model/detector.h"
#include "model/scoring/lagged_scores.h"
#include "server/cli/commands.h"
#include "server/cli/failure.h"
#include "server/cli/lagged_verdicts.h"
#include "server/cli/progress_bar.h"
#include "server/cli/score_pass.h"
#include "server/cli/score_table.h"
#include "server/cli/telemetry_source.h"
#include "server/cli/trained_span.h"

namespace telltale::server {
namespace {

using std::chrono::steady_clock;

constexpr int kFailure = 1;
constexpr int kUsage = 2;

struct ScoreFlags {
  std::string model;
  std::string data;
  std::string out;
  bool json = false;
  bool masking = false;
  int lag = 0;
  int threads = 0;
  model::Precision precision = model::Precision::kFloat32;
};

// What the checkpoint adds to what its detector knows.
struct Calibrated {
  std::shared_ptr<const model::Checkpoint> checkpoint;
  // Of each segment, what the model was trained on; none: nothing of it.
  std::vector<std::optional<data::TimeRange>> trained;
};

bool AnyTrained(const Calibrated& calibrated) {
  return std::ranges::any_of(calibrated.trained,
                             [](const auto& span) { return span.has_value(); });
}

// The table, from verdicts in order, segment by segment.
class RowWriter {
 public:
  // Views its arguments.
  RowWriter(const ScoreFlags& flags, const model::ModelDescription& model,
            const std::vector<TelemetrySource>& segments,
            const Calibrated& calibrated)
      : flags_(flags),
        model_(model),
        segments_(segments),
        calibrated_(calibrated) {}

  void BeginSegment(int segment) {
    segment_ = segment;
    trained_ = calibrated_.trained[static_cast<size_t>(segment)];
    lagged_.reset();
    if (flags_.lag > 0) {
      lagged_.emplace(calibrated_.checkpoint, flags_.lag,
                      model_.verdict_threshold);
    }
  }

  absl::Status Take(const model::InstantScore& score) {
    if (!lagged_) return Write(score);
    const auto verdict = lagged_->Push(score);
    return verdict ? Write(*verdict) : absl::OkStatus();
  }

  absl::Status EndSegment() {
    while (lagged_) {
      const auto verdict = lagged_->Drain();
      if (!verdict) break;
      if (absl::Status status = Write(*verdict); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status Finish() {
    if (!table_) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s: there is no instant in it to score", flags_.data));
    }
    return table_->Close();
  }

  int64_t instants() const { return instants_; }
  int64_t anomalies() const { return anomalies_; }

 private:
  absl::Status Write(const model::InstantScore& score) {
    const bool several = segments_.size() > 1;
    if (!table_) {  // how time is written is known with the first instant
      auto table =
          ScoreTable::Create(flags_.out,
                             flags_.json ? ScoreTable::Format::kJsonLines
                                         : ScoreTable::Format::kCsv,
                             segments_.front().time_form(),
                             {.segment = several,
                              .masking = flags_.masking,
                              .trained = AnyTrained(calibrated_)},
                             ScoreTable::Placement::kWhenClosed);
      if (!table.ok()) return table.status();
      table_ = *std::move(table);
    }
    ++instants_;
    anomalies_ += score.anomaly ? 1 : 0;
    ScoreRow row = RowOf(score, model_.channels,
                         lagged_ ? lagged_->threshold() : model_.threshold);
    if (several) row.segment = segment_;
    row.trained = trained_ && trained_->start_ns <= row.time_ns &&
                  row.time_ns <= trained_->end_ns;
    table_->Append(row);
    return absl::OkStatus();
  }

  const ScoreFlags& flags_;
  const model::ModelDescription& model_;
  const std::vector<TelemetrySource>& segments_;
  const Calibrated& calibrated_;
  int segment_ = 0;
  std::optional<LaggedVerdicts> lagged_;  // of this segment
  std::optional<data::TimeRange> trained_;
  std::optional<ScoreTable> table_;
  int64_t instants_ = 0;
  int64_t anomalies_ = 0;
};

absl::StatusOr<Calibrated> ReadCalibrated(
    const ScoreFlags& flags, const model::ModelDescription& model) {
  std::string sha256;
  auto checkpoint = model::Checkpoint::Load(flags.model, &sha256);
  if (!checkpoint.ok()) return checkpoint.status();
  if (model::VersionOf(sha256, model.precision) != model.version) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s: the file was replaced while it was read; try again", flags.model));
  }
  auto segments = TelemetrySource::OpenSegments(flags.data, model.channels);
  if (!segments.ok()) return segments.status();
  Calibrated calibrated;
  for (TelemetrySource& segment : *segments) {
    const auto trained =
        FindTrainedSpan(segment, model.channels.size(), checkpoint->instants);
    if (!trained.ok()) return trained.status();
    calibrated.trained.push_back(*trained);
  }
  calibrated.checkpoint =
      std::make_shared<const model::Checkpoint>(*std::move(checkpoint));
  return calibrated;
}

// Writing must not destroy what is read.
absl::Status CheckOut(const ScoreFlags& flags) {
  std::error_code error;
  for (const std::string& input : {flags.model, flags.data}) {
    if (flags.out.empty() ||
        !std::filesystem::equivalent(input, flags.out, error)) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrFormat(
        "--out: %s is read as well; give another name", flags.out));
  }
  return absl::OkStatus();
}

absl::Status SetPrecision(const std::string& name, ScoreFlags& flags) {
  const auto chosen = model::ChoosePrecision(name);
  if (!chosen.ok()) {
    return absl::Status(
        chosen.status().code(),
        absl::StrFormat("--precision: %s", chosen.status().message()));
  }
  flags.precision = *chosen;
  return absl::OkStatus();
}

void ShowProgress(std::optional<int64_t> total, int64_t instants,
                  double seconds, ProgressBar& bar) {
  std::optional<double> fraction;
  if (total) {
    fraction = static_cast<double>(instants) / static_cast<double>(*total);
  }
  bar.Update(fraction, absl::StrFormat("%d instants, %.0f a second", instants,
                                       static_cast<double>(instants) /
                                           std::max(seconds, 1e-3)));
}

std::optional<int64_t> TotalLength(
    const std::vector<TelemetrySource>& segments) {
  int64_t total = 0;
  for (const TelemetrySource& segment : segments) {
    if (!segment.length()) return std::nullopt;
    total += *segment.length();
  }
  return total;
}

absl::Status Score(const ScoreFlags& flags) {
  const auto detector = model::Detector::Load(flags.model, flags.precision);
  if (!detector.ok()) return detector.status();
  const model::ModelDescription& model = (*detector)->description();
  const auto calibrated = ReadCalibrated(flags, model);
  if (!calibrated.ok()) return calibrated.status();
  auto segments = TelemetrySource::OpenSegments(flags.data, model.channels);
  if (!segments.ok()) return segments.status();

  RowWriter writer(flags, model, *segments, *calibrated);
  ScorePassOptions options;
  options.with_masking = flags.masking;
  options.with_views = flags.lag > 0;
  options.threads =
      flags.threads > 0
          ? flags.threads
          : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const ProgressBar::Options shape = ProgressBar::OfStandardError();
  ProgressBar bar(std::cerr, shape);
  const std::optional<int64_t> total = TotalLength(*segments);
  const auto start = steady_clock::now();
  int64_t taken = 0;
  const auto take = [&](const model::InstantScore& score) {
    ++taken;
    if (shape.terminal) {
      const std::chrono::duration<double> seconds = steady_clock::now() - start;
      ShowProgress(total, taken, seconds.count(), bar);
    }
    return writer.Take(score);
  };
  absl::Status status;
  for (size_t i = 0; i < segments->size() && status.ok(); ++i) {
    writer.BeginSegment(static_cast<int>(i));
    status = ScorePass(**detector, (*segments)[i], options, take);
    if (status.ok()) status = writer.EndSegment();
  }
  bar.Finish();
  if (status.ok()) status = writer.Finish();
  if (!status.ok()) return status;
  std::cerr << absl::StrFormat(
      "%d instants scored by model '%s', %d anomalous\n", writer.instants(),
      model.name, writer.anomalies());
  if (AnyTrained(*calibrated)) {
    std::cerr << "note: some of them the model was trained on, and knows too "
                 "well; they have a 1 in the column trained\n";
  }
  return absl::OkStatus();
}

}  // namespace

void AddScoreCommand(CLI::App& app, CommandResult& result) {
  CLI::App* command = app.add_subcommand(
      "score", "Score a recording with a model, one row an instant");
  auto flags = std::make_shared<ScoreFlags>();  // shared with the callback
  command
      ->add_option("--model", flags->model, "File that `telltale train` wrote")
      ->option_text("FILE")
      ->required();
  command
      ->add_option("--data", flags->data,
                   "CSV or .npy file; several .npy with commas between are "
                   "laid side by side. An array of [segments, steps, channels] "
                   "is scored segment by segment, each a stream of its own, "
                   "and the rows get a column segment")
      ->option_text("FILE")
      ->required();
  command
      ->add_option("--out", flags->out, "Where the rows go [standard output]")
      ->option_text("FILE");
  command->add_flag("--json", flags->json,
                    "JSON lines, one an instant, instead of CSV");
  command->add_flag("--masking", flags->masking,
                    "Check whether anomalies rest on what they point back to: "
                    "adds columns with the change of the residual, in "
                    "deviations, without those instants and without as many "
                    "random ones");
  command
      ->add_option("--lag", flags->lag,
                   "Instants that a score may look ahead, for recordings; 0 "
                   "gives what the service gives live [0]")
      ->option_text("N")
      ->check(CLI::Range(0, model::LaggedScores::kMaxLag));
  command
      ->add_option("--threads", flags->threads,
                   "Threads that score; 0: one for each processor. The scores "
                   "do not depend on it [0]")
      ->option_text("N")
      ->check(CLI::Range(0, 256));
  auto precision = std::make_shared<std::string>("f32");
  command
      ->add_option("--precision", *precision,
                   "In what the encoder multiplies: f32, exact; bf16, faster "
                   "on processors that have it; auto, the fastest there is "
                   "[f32]")
      ->option_text("NAME");
  command->callback([flags, precision, &result] {
    absl::Status status = CheckOut(*flags);
    if (status.ok()) status = SetPrecision(*precision, *flags);
    const int failure = status.ok() ? kFailure : kUsage;
    if (status.ok()) status = Score(*flags);
    if (status.ok()) return;
    PrintFailure(status);
    result.exit_code = failure;
  });
}

}  // namespace telltale::server
