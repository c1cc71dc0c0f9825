// telltale simulate: writes a run of the simulated engine, and its faults.

#include <array>
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <CLI/CLI.hpp>

#include "data/csv_writer.h"
#include "data/labels.h"
#include "data/series.h"
#include "data/simulator/engine.h"
#include "data/simulator/engine_channels.h"
#include "data/simulator/simulate.h"
#include "server/cli/commands.h"
#include "server/cli/failure.h"

namespace telltale::server {
namespace {

constexpr int kUsage = 2;
constexpr int64_t kMaxSteps = 1'000'000'000;

struct SimulateFlags {
  data::Engine::Options engine;
  std::string out;
  std::string labels;
};

absl::Status WriteRun(const SimulateFlags& flags) {
  absl::StatusOr<data::CsvWriter> writer = data::CsvWriter::Create(
      flags.out, data::EngineChannels(), data::TimeForm::kSeconds);
  if (!writer.ok()) return writer.status();

  data::Engine engine(flags.engine);
  std::array<float, data::kEngineChannelCount> instant = {};
  for (int64_t t = 0; engine.Next(instant); ++t) {
    writer->Append(t * data::kSimulatedCadenceNs, instant);
  }
  absl::Status written = writer->Close();
  if (!written.ok() || flags.labels.empty()) return written;
  return data::WriteLabels(data::LabelsOf(engine.faults()),
                           data::TimeForm::kSeconds, flags.labels);
}

void RunSimulate(const SimulateFlags& flags, CommandResult& result) {
  if (!flags.labels.empty() && flags.labels == flags.out) {
    std::cerr << "telltale: --labels and --out name the same file, "
              << flags.out << "; give each its own\n";
    result.exit_code = kUsage;
    return;
  }
  const absl::Status status = WriteRun(flags);
  if (status.ok()) return;
  PrintFailure(status);
  result.exit_code = 1;
}

}  // namespace

void AddSimulateCommand(CLI::App& app, CommandResult& result) {
  CLI::App* command = app.add_subcommand(
      "simulate", "Write a run of a simulated rocket engine as CSV");
  const auto flags = std::make_shared<SimulateFlags>();
  command
      ->add_option("--seed", flags->engine.seed,
                   "The same seed gives the same run on every machine")
      ->required()
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()));
  command
      ->add_option("--steps", flags->engine.steps,
                   "How many instants, one second apart")
      ->required()
      ->check(CLI::Range(int64_t{1}, kMaxSteps));
  command->add_flag("--faults", flags->engine.faults,
                    "Inject faults, none in the first 1,000 instants");
  command->add_option("--out", flags->out, "The CSV file to write")->required();
  command->add_option("--labels", flags->labels,
                      "Where to write the faults' intervals and causes");
  command->callback([flags, &result] { RunSimulate(*flags, result); });
}

}  // namespace telltale::server
