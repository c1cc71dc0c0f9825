// telltale train: learns what is nominal from recordings, writes a model.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <signal.h>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "data/channel_summary.h"
#include "data/series.h"
#include "model/training/train.h"
#include "server/cli/card_markdown.h"
#include "server/cli/card_text.h"
#include "server/cli/channel_notes.h"
#include "server/cli/commands.h"
#include "server/cli/failure.h"
#include "server/cli/false_alarm_budget.h"
#include "server/cli/model_card.h"
#include "server/cli/output_paths.h"
#include "server/cli/progress_bar.h"
#include "server/cli/segments.h"
#include "server/cli/train_config.h"

namespace telltale::server {
namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;
// Enough to see a model take shape.
constexpr int kQuickSteps = 100;

struct TrainFlags {
  std::vector<std::string> data;
  std::string labels;
  std::string out;
  std::string config;
  std::optional<uint64_t> seed;
  std::optional<int> threads;
  std::optional<int> steps;
  std::optional<int> window;
  std::string false_alarms;
  bool quick = false;
  std::string card;
};

std::atomic<bool> g_stop_asked = false;
static_assert(std::atomic<bool>::is_always_lock_free);

// The first Ctrl-C asks training to stop; the handler is gone by then, so that
// the second one ends the process.
void StopOnInterrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_stop_asked = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// Flags over the file over the defaults.
absl::StatusOr<TrainConfig> GatherConfig(const TrainFlags& flags) {
  TrainConfig config;
  if (!flags.config.empty()) {
    auto read = ReadTrainConfig(flags.config);
    if (!read.ok()) return read.status();
    config = *std::move(read);
  }
  model::TrainingOptions& options = config.options;
  options.seed = flags.seed.value_or(options.seed);
  options.threads = flags.threads.value_or(options.threads);
  if (flags.quick) options.steps = kQuickSteps;
  options.steps = flags.steps.value_or(options.steps);
  options.window = flags.window.value_or(options.window);
  if (!flags.false_alarms.empty()) {
    const auto budget = FalseAlarmBudget::Parse(flags.false_alarms);
    if (!budget.ok()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("--false-alarms: %s", budget.status().message()));
    }
    config.false_alarms = *budget;
  }
  return config;
}

std::string CardOf(const TrainFlags& flags) {
  return flags.card.empty() ? CardPath(flags.out) : flags.card;
}

// Before hours of training rather than after them.
absl::Status CheckFiles(const TrainFlags& flags) {
  const std::vector<OutputPath> outputs = {{"--out", flags.out},
                                           {"--card", CardOf(flags)}};
  std::vector<std::string> inputs = flags.data;
  inputs.push_back(flags.labels);
  inputs.push_back(flags.config);
  return CheckOutputs(outputs, inputs);
}

// "1:05" for 65 seconds.
std::string MinutesAndSeconds(double seconds) {
  const auto whole = static_cast<int64_t>(std::max(0.0, seconds));
  return absl::StrFormat("%d:%02d", whole / 60, whole % 60);
}

// Fits beside the bar on a terminal of 80 columns.
std::string Describe(const model::TrainingProgress& p) {
  std::string text = absl::StrFormat("loss %.3g", p.loss);
  if (!std::isnan(p.held_out_loss)) {
    text += absl::StrFormat(" (held out %.3g)", p.held_out_loss);
  }
  return text + absl::StrFormat(", %.0fk instants/s, %s left",
                                p.instants_per_second / 1000,
                                MinutesAndSeconds(p.seconds_left));
}

// Draws the progress; tells training to go on until it is asked to stop.
class Watcher {
 public:
  Watcher(ProgressBar& bar, bool terminal) : bar_(bar), terminal_(terminal) {}

  bool Watch(const model::TrainingProgress& p) {
    const std::string note = Describe(p);
    bar_.Update(static_cast<double>(p.step) / p.steps,
                terminal_ ? note
                          : absl::StrFormat("step %d of %d, %s", p.step,
                                            p.steps, note));
    if (!g_stop_asked) return true;
    bar_.Finish();
    std::cerr << "stopping; the best so far is kept (again: ends at once)\n";
    return false;
  }

 private:
  ProgressBar& bar_;
  const bool terminal_;
};

// What the model says of its making; names only, since paths say nothing on
// another machine.
std::string MakeCard(const TrainFlags& flags) {
  nlohmann::json files = nlohmann::json::array();
  for (const std::string& spec : flags.data) {
    files.push_back(std::filesystem::path(spec).filename().string());
  }
  const nlohmann::json card = {{"software", "telltale " TELLTALE_VERSION},
                               {"data", files},
                               {"quick", flags.quick}};
  return card.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void AnnounceTraining(const std::vector<data::Series>& segments) {
  int64_t instants = 0;
  for (const data::Series& segment : segments) instants += segment.length();
  std::cerr << absl::StrFormat("training on %s instants of %d channels",
                               Grouped(instants),
                               segments.front().channels.size());
  if (segments.size() > 1) {
    std::cerr << absl::StrFormat(
        " in %s segments", Grouped(static_cast<int64_t>(segments.size())));
  }
  std::cerr << '\n';
  for (const std::string& note : ChannelNotes(
           segments.front().channels, data::SummariseChannels(segments))) {
    std::cerr << "channels " << note << '\n';
  }
}

absl::Status Train(const TrainFlags& flags, TrainConfig config) {
  auto segments = ReadSegments(flags.data);
  if (!segments.ok()) return segments.status();
  if (auto s = DeclareChannels(config.channels, *segments); !s.ok()) return s;
  config.options.false_alarms_per_10k =
      config.false_alarms.Per10k(segments->front().CadenceNs());

  model::FaultLabels labels;
  if (!flags.labels.empty()) {
    auto read = ReadFaults(flags.labels, *segments);
    if (!read.ok()) return read.status();
    labels = *std::move(read);
  }

  StopOnInterrupt();
  AnnounceTraining(*segments);
  const ProgressBar::Options shape = ProgressBar::OfStandardError();
  ProgressBar bar(std::cerr, shape);
  Watcher watcher(bar, shape.terminal);
  auto checkpoint =
      model::Train(*segments, labels, config.options,
                   [&watcher](const model::TrainingProgress& progress) {
                     return watcher.Watch(progress);
                   });
  bar.Finish();
  if (!checkpoint.ok()) return checkpoint.status();
  checkpoint->card = MakeCard(flags);
  if (auto s = checkpoint->Save(flags.out); !s.ok()) return s;
  const std::string card = CardOf(flags);
  if (auto s = WriteCard(*checkpoint, flags.out, card); !s.ok()) return s;
  std::cout << TrainingSummary(*checkpoint, flags.out, card);
  return absl::OkStatus();
}

void RunTrain(const TrainFlags& flags, CommandResult& result) {
  auto config = GatherConfig(flags);
  absl::Status status = config.ok() ? CheckFiles(flags) : config.status();
  if (!status.ok()) {
    result.exit_code = kUsage;
  } else {
    status = Train(flags, *std::move(config));
    if (!status.ok()) result.exit_code = kFailure;
  }
  if (!status.ok()) PrintFailure(status);
}

void AddSettings(CLI::App& command, TrainFlags& flags) {
  command
      .add_option("--config", flags.config,
                  "Settings (TOML): [training], [encoder], [evidence], "
                  "[channels.NAME]")
      ->option_text("FILE");
  command
      .add_option("--seed", flags.seed,
                  "The same seed and data give the same model [1]")
      ->option_text("N")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()));
  command
      .add_option("--threads", flags.threads,
                  "Threads; 0: one for each processor. The model does not "
                  "depend on it [0]")
      ->option_text("N")
      ->check(CLI::Range(0, 256));
  command
      .add_option("--steps", flags.steps,
                  "Steps of training; 0: 600 to 4,000, by the amount of data "
                  "[0]")
      ->option_text("N")
      ->check(CLI::Range(0, 10'000'000));
  command.add_flag(
      "--quick", flags.quick,
      "Take 100 steps alone, to see that everything works; the model "
      "says that it is not to be relied on");
  command
      .add_option("--window", flags.window,
                  "Instants that an example of training spans; 0: twice the "
                  "context [0]")
      ->option_text("N")
      ->check(CLI::Range(0, 65'536));
  command
      .add_option("--false-alarms", flags.false_alarms,
                  "False-alarm events to put up with, for each 10,000 "
                  "instants or each day [5/10000]")
      ->option_text("N/10000|N/day");
}

}  // namespace

void AddTrainCommand(CLI::App& app, CommandResult& result) {
  CLI::App* command = app.add_subcommand(
      "train", "Learn what is nominal from recordings; write a model");
  auto flags = std::make_shared<TrainFlags>();  // shared with the callback
  command
      ->add_option("--data", flags->data,
                   "Recordings of nominal operation (with --labels, of faults "
                   "too): CSV or .npy files, several .npy with commas between "
                   "are laid side by side. Several recordings, and the "
                   "segments of an array of [segments, steps, channels], are "
                   "separate runs of the same channels")
      ->option_text("FILE...")
      ->required();
  command
      ->add_option("--labels", flags->labels,
                   "Known faults (CSV: start,end and, with several segments, "
                   "segment, counted from 0). Besides what is nominal, the "
                   "model then learns a verdict on each instant: whether it "
                   "belongs to such a fault. Whatever lies outside of them is "
                   "taken for nominal")
      ->option_text("FILE");
  command->add_option("--out", flags->out, "The model file to write")
      ->option_text("FILE")
      ->required();
  command
      ->add_option("--card", flags->card,
                   "The model card to write, as Markdown [beside the model: "
                   "NAME.card.md]")
      ->option_text("FILE");
  AddSettings(*command, *flags);
  command->footer(
      "A flag wins over the file. Ctrl-C stops training and keeps the best "
      "parameters so far;\na second one ends at once. The file is written "
      "whole or not at all.");
  command->callback([flags, &result] { RunTrain(*flags, result); });
}

}  // namespace telltale::server
