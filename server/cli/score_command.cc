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

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include <CLI/CLI.hpp>

#include "data/labels.h"
#include "model/checkpoint/checkpoint.h"
#include "model/detector.h"
#include "model/scoring/smoothed_scores.h"
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
};

// What the checkpoint adds to what its detector knows.
struct Calibrated {
  std::optional<LaggedVerdicts> lagged;  // none for a lag of 0
  // Of the telemetry, what the model was trained on; none: nothing of it.
  std::optional<data::TimeRange> trained;
};

// The table, from verdicts in order.
class RowWriter {
 public:
  // Views its first three arguments.
  RowWriter(const ScoreFlags& flags, const model::ModelDescription& model,
            const TelemetrySource& source, const Calibrated& calibrated)
      : flags_(flags),
        model_(model),
        source_(source),
        lagged_(calibrated.lagged),
        trained_(calibrated.trained) {}

  absl::Status Take(const model::InstantScore& score) {
    if (!lagged_) return Write(score);
    const auto verdict = lagged_->Push(score);
    return verdict ? Write(*verdict) : absl::OkStatus();
  }

  absl::Status Finish() {
    while (lagged_) {
      const auto verdict = lagged_->Drain();
      if (!verdict) break;
      if (absl::Status status = Write(*verdict); !status.ok()) return status;
    }
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
    if (!table_) {  // how time is written is known with the first instant
      auto table = ScoreTable::Create(
          flags_.out,
          flags_.json ? ScoreTable::Format::kJsonLines
                      : ScoreTable::Format::kCsv,
          source_.time_form(),
          {.masking = flags_.masking, .trained = trained_.has_value()},
          ScoreTable::Placement::kWhenClosed);
      if (!table.ok()) return table.status();
      table_ = *std::move(table);
    }
    ++instants_;
    anomalies_ += score.anomaly ? 1 : 0;
    ScoreRow row = RowOf(score, model_.channels,
                         lagged_ ? lagged_->threshold() : model_.threshold);
    row.trained = trained_ && trained_->start_ns <= row.time_ns &&
                  row.time_ns <= trained_->end_ns;
    table_->Append(row);
    return absl::OkStatus();
  }

  const ScoreFlags& flags_;
  const model::ModelDescription& model_;
  const TelemetrySource& source_;
  std::optional<LaggedVerdicts> lagged_;
  const std::optional<data::TimeRange> trained_;
  std::optional<ScoreTable> table_;
  int64_t instants_ = 0;
  int64_t anomalies_ = 0;
};

// Without a lag the scores are the service's own.
absl::StatusOr<std::optional<LaggedVerdicts>> LaggedBy(
    int lag, const model::Checkpoint& checkpoint) {
  if (lag == 0) return std::nullopt;
  auto scoring = model::SmoothedScoring::Calibrate(
      checkpoint.nominal_scores, checkpoint.threshold.budget_per_10k, lag);
  if (!scoring.ok()) {
    return absl::Status(
        scoring.status().code(),
        absl::StrFormat("--lag: %s", scoring.status().message()));
  }
  return LaggedVerdicts(*std::move(scoring), lag);
}

absl::StatusOr<Calibrated> ReadCalibrated(
    const ScoreFlags& flags, const model::ModelDescription& model) {
  std::string version;
  const auto checkpoint = model::Checkpoint::Load(flags.model, &version);
  if (!checkpoint.ok()) return checkpoint.status();
  if (version != model.version) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s: the file was replaced while it was read; try again", flags.model));
  }
  auto lagged = LaggedBy(flags.lag, *checkpoint);
  if (!lagged.ok()) return lagged.status();
  const auto trained =
      FindTrainedSpan(flags.data, model.channels, checkpoint->instants);
  if (!trained.ok()) return trained.status();
  return Calibrated{*std::move(lagged), *trained};
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

void ShowProgress(const TelemetrySource& source, int64_t instants,
                  double seconds, ProgressBar& bar) {
  std::optional<double> fraction;
  if (source.length()) {
    fraction =
        static_cast<double>(instants) / static_cast<double>(*source.length());
  }
  bar.Update(fraction, absl::StrFormat("%d instants, %.0f a second", instants,
                                       static_cast<double>(instants) /
                                           std::max(seconds, 1e-3)));
}

absl::Status Score(const ScoreFlags& flags) {
  const auto detector = model::Detector::Load(flags.model);
  if (!detector.ok()) return detector.status();
  const model::ModelDescription& model = (*detector)->description();
  const auto calibrated = ReadCalibrated(flags, model);
  if (!calibrated.ok()) return calibrated.status();
  absl::StatusOr<TelemetrySource> source =
      TelemetrySource::Open(flags.data, model.channels);
  if (!source.ok()) return source.status();

  RowWriter writer(flags, model, *source, *calibrated);
  ScorePassOptions options;
  options.with_masking = flags.masking;
  options.threads =
      flags.threads > 0
          ? flags.threads
          : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const ProgressBar::Options shape = ProgressBar::OfStandardError();
  ProgressBar bar(std::cerr, shape);
  const auto start = steady_clock::now();
  int64_t taken = 0;
  absl::Status status = ScorePass(
      **detector, *source, options, [&](const model::InstantScore& score) {
        ++taken;
        if (shape.terminal) {
          const std::chrono::duration<double> seconds =
              steady_clock::now() - start;
          ShowProgress(*source, taken, seconds.count(), bar);
        }
        return writer.Take(score);
      });
  bar.Finish();
  if (status.ok()) status = writer.Finish();
  if (!status.ok()) return status;
  std::cerr << absl::StrFormat(
      "%d instants scored by model '%s', %d anomalous\n", writer.instants(),
      model.name, writer.anomalies());
  if (calibrated->trained) {
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
                   "laid side by side")
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
      ->check(CLI::Range(0, model::ScoreSmoother::kMaxLag));
  command
      ->add_option("--threads", flags->threads,
                   "Threads that score; 0: one for each processor. The scores "
                   "do not depend on it [0]")
      ->option_text("N")
      ->check(CLI::Range(0, 256));
  command->callback([flags, &result] {
    absl::Status status = CheckOut(*flags);
    const int failure = status.ok() ? kFailure : kUsage;
    if (status.ok()) status = Score(*flags);
    if (status.ok()) return;
    PrintFailure(status);
    result.exit_code = failure;
  });
}

}  // namespace telltale::server
