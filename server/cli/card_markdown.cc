#include "server/cli/card_markdown.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "data/output_file.h"
#include "model/checkpoint/file_io.h"
#include "model/checkpoint/safetensors.h"
#include "model/checkpoint/sha256.h"
#include "model/scoring/stream_scorer.h"
#include "model/scoring/verdict_threshold.h"
#include "server/cli/card_evaluation.h"
#include "server/cli/card_text.h"
#include "server/cli/markdown.h"

namespace telltale::server {
namespace {

using data::ChannelKind;

std::string Item(const std::string& text) { return "- " + text + "\n"; }

std::string Seconds(const model::Checkpoint& checkpoint, int instants) {
  return absl::StrFormat(
      "%.6g s", 1e-9 * static_cast<double>(checkpoint.cadence_ns) * instants);
}

// The channel's place in the training record's lists; none where the record
// does not tell it. Null: no sample was seen.
std::optional<Json> Seen(const Json& seen, const char* list, int channel) {
  const auto values = seen.find(list);
  if (values == seen.end() || !values->is_array()) return std::nullopt;
  const auto place = static_cast<size_t>(channel);
  if (place >= values->size()) return std::nullopt;
  return (*values)[place];
}

// Nine digits tell any two samples apart, which are single-precision; fewer are
// told where they are the same sample, 0.542 instead of 0.541999996.
std::string SampleText(double sample) {
  std::string whole = absl::StrFormat("%.9g", sample);
  for (int digits = 6; digits < 9; ++digits) {
    std::string text = absl::StrFormat("%.*g", digits, sample);
    if (std::strtof(text.c_str(), nullptr) ==
        std::strtof(whole.c_str(), nullptr)) {
      return text;
    }
  }
  return whole;
}

// The channel's place as text; "?" and "-" where there is none.
std::string SeenText(const Json& seen, const char* list, int channel) {
  const std::optional<Json> value = Seen(seen, list, channel);
  if (!value) return "?";
  if (value->is_number_integer()) return Grouped(value->get<int64_t>());
  return value->is_number() ? SampleText(value->get<double>()) : "-";
}

Json SeenChannels(const Json& training) {
  const auto seen = training.find("channels");
  return seen != training.end() && seen->is_object() ? *seen : Json::object();
}

std::string SummaryText(const model::Checkpoint& checkpoint,
                        const std::string& version) {
  const model::EncoderConfig& config = checkpoint.config;
  std::string text = absl::StrFormat(
      "Watches %d channels at one instant every %s. It forecasts %d of them "
      "from up to %d instants (%s) before, and calls an instant an anomaly "
      "where its score exceeds %.2f: the score is -log10 of the probability "
      "that nominal operation gives a value as extreme.\n\n",
      checkpoint.channels.size(), Seconds(checkpoint, 1), config.targets,
      config.context_length(), Seconds(checkpoint, config.context_length()),
      checkpoint.threshold.threshold);
  if (config.verdict) {
    text += absl::StrFormat(
        "It also gives a verdict, learnt from labelled faults: an instant is "
        "an anomaly as well where the verdict exceeds %.4g.\n\n",
        model::VerdictProbability(checkpoint.threshold.verdict_logit));
  }
  if (IsQuick(checkpoint)) {
    text +=
        "**A quick model (`--quick`), to try things out: not to be relied "
        "on.**\n\n";
  }
  return text + Item("version (SHA-256 of the file): " + version) +
         Item("written by " + EscapeMarkdown(FieldText(
                                  ParseObject(checkpoint.card), "software"))) +
         "\n";
}

std::string DataText(const model::Checkpoint& checkpoint,
                     const Json& training) {
  std::string text = "## What it learnt from\n\n";
  const Json card = ParseObject(checkpoint.card);
  const auto files = card.find("data");
  if (files != card.end() && files->is_array()) {
    for (const Json& file : *files) {
      text += Item("file " + EscapeMarkdown(file.is_string()
                                                ? file.get<std::string>()
                                                : file.dump()));
    }
  }
  text += Item(absl::StrFormat(
      "%s instants in %s segment(s), from %s to %s",
      FieldText(training, "instants"), FieldText(training, "segments"),
      TimeText(training, "first_time_ns"), TimeText(training, "last_time_ns")));
  text += Item("SHA-256 of samples and time stamps: " +
               FieldText(training, "data_sha256"));
  if (training.contains("labelled_instants")) {
    text += Item(absl::StrFormat(
        "%s instants of them labelled as faults, from which a verdict is "
        "learnt",
        FieldText(training, "labelled_instants")));
    text += Item("all others were taken for nominal, whatever they were");
  } else {
    text += Item("all of it was taken for nominal, whatever it was");
  }
  return text + "\n";
}

std::string ChannelsText(const model::Checkpoint& checkpoint,
                         const Json& training) {
  const Json seen = SeenChannels(training);
  MarkdownTable table({"channel", "unit", "kind", "lowest seen", "highest seen",
                       "samples missing"});
  for (int c = 0; c < checkpoint.channels.size(); ++c) {
    const data::Channel& channel = checkpoint.channels[c];
    table.Add({EscapeMarkdown(channel.name), EscapeMarkdown(channel.unit),
               std::string(data::ChannelKindName(channel.kind)),
               SeenText(seen, "lowest", c), SeenText(seen, "highest", c),
               SeenText(seen, "missing", c)});
  }
  return "## Channels\n\n" + table.Text();
}

// What stands in a record is not known to be names.
std::string NamesText(const Json& names) {
  std::vector<std::string> texts;
  for (const Json& name : names) {
    texts.push_back(name.is_string() ? EscapeMarkdown(name.get<std::string>())
                                     : "?");
  }
  return absl::StrJoin(texts, ", ");
}

std::string TrainingText(const model::Checkpoint& checkpoint,
                         const Json& training) {
  const auto loss = training.find("held_out_loss");
  std::string text =
      "## Training\n\n" +
      Item(absl::StrFormat(
          "%s parameters; %s steps of %s windows, the best at "
          "step %s; seed %s",
          Grouped(ParameterCount(checkpoint)), FieldText(training, "steps"),
          FieldText(training, "batch"), FieldText(training, "best_step"),
          FieldText(training, "seed")));
  text += Item(absl::StrFormat(
      "learning rate %s, noise on inputs %s, share held out %s",
      FieldText(training, "learning_rate"), FieldText(training, "input_noise"),
      FieldText(training, "held_out")));
  std::string told =
      absl::StrFormat("loss %s, held out %s", FieldText(training, "loss"),
                      FieldText(training, "held_out_loss"));
  const bool plain = !checkpoint.config.verdict;
  if (plain && loss != training.end() && loss->is_number()) {
    told += absl::StrFormat(
        ": forecasts are off by %.2g of a channel's typical deviation (root "
        "mean square over channels and horizons)",
        std::sqrt(std::max(0.0, loss->get<double>())));
  }
  text += Item(told);
  const auto left_out = training.find("evidence_left_out");
  if (left_out != training.end()) {
    text += Item("parts of the evidence left out: " + NamesText(*left_out));
  }
  const auto stopped = training.find("stopped_early");
  if (stopped != training.end() && *stopped == true) {
    text += Item("stopped by hand before its end");
  }
  return text + "\n";
}

std::string FalseAlarmsText(const model::Checkpoint& checkpoint) {
  const model::ThresholdRecord& record = checkpoint.threshold;
  std::string text = absl::StrFormat(
      "## False alarms\n\nThe threshold of %.2f is set for %.4g false-alarm "
      "events per 10,000 instants. In %s held-out instants it gave %s; from "
      "that the true rate lies between %s and %s per 10,000 (95 %% "
      "interval), as long as operation stays as it was in training.\n\n",
      record.threshold, record.budget_per_10k, Grouped(record.instants),
      Grouped(record.events), RateText(record.low_per_10k),
      RateText(record.high_per_10k));
  const std::string wide = WideIntervalText(checkpoint);
  if (!wide.empty()) text += "**" + wide + ".**\n\n";
  return text;
}

std::string EvaluationsText(const Json& card) {
  std::string text = "## What it finds\n\n";
  const auto evaluations = card.find("evaluations");
  if (evaluations == card.end() || !evaluations->is_array() ||
      evaluations->empty()) {
    return text +
           "Not evaluated: what it finds, and whether what it points back to "
           "is right, is unknown. `telltale score` and `telltale evaluate "
           "--model` on labelled telemetry tell it.\n\n";
  }
  text +=
      "Shares from 0 to 1. `detector` is the model; the other lines are "
      "controls of the same run. Recall is told at 1, 5 and 20 false-alarm "
      "events per 10,000 instants.\n\n";
  for (const Json& record : *evaluations) text += EvaluationMarkdown(record);
  return text;
}

// Channels on which a fault of their own is not seen, or only as any change.
std::string BlindChannelsText(const model::Checkpoint& checkpoint,
                              const Json& training) {
  const Json seen = SeenChannels(training);
  std::vector<std::string> inputs, absent, still;
  for (int c = 0; c < checkpoint.channels.size(); ++c) {
    const data::Channel& channel = checkpoint.channels[c];
    const std::string name = EscapeMarkdown(channel.name);
    const std::optional<Json> lowest = Seen(seen, "lowest", c);
    if (channel.kind != ChannelKind::kContinuous) {
      inputs.push_back(name);
    } else if (lowest && lowest->is_null()) {
      absent.push_back(name);
    } else if (lowest && lowest->is_number() &&
               lowest == Seen(seen, "highest", c)) {
      still.push_back(name);
    }
  }
  std::string text;
  if (!inputs.empty()) {
    text += Item(
        "Commands and discrete channels are read but not judged; a "
        "fault of theirs shows in other channels or not at all: " +
        absl::StrJoin(inputs, ", ") + ".");
  }
  if (!absent.empty()) {
    text += Item("Without a sample in training, and so never judged: " +
                 absl::StrJoin(absent, ", ") + ".");
  }
  if (!still.empty()) {
    text += Item(
        "Never changing in training, so that any clear change is an anomaly: " +
        absl::StrJoin(still, ", ") + ".");
  }
  return text;
}

std::string BlindSpotsText(const model::Checkpoint& checkpoint,
                           const Json& training, const Json& card) {
  const int context = checkpoint.config.context_length();
  // The longest horizon's forecast looks back from so much earlier.
  const int earliest = context + checkpoint.config.horizons.back();
  std::string text = "## Known blind spots\n\n";
  const auto evaluations = card.find("evaluations");
  if (evaluations != card.end() && evaluations->is_array()) {
    for (const Json& record : *evaluations) {
      const std::vector<std::string> kinds = KindsHardlyFound(record);
      if (kinds.empty()) continue;
      text += Item(
          "Found less than half of these kinds at its own threshold when "
          "evaluated: " +
          absl::StrJoin(kinds, ", ") + ".");
    }
  }
  text += BlindChannelsText(checkpoint, training);
  text += Item(absl::StrFormat(
      "The first %d instants of a stream are not scored, and what follows is "
      "judged with less of the past until %d instants (%s) are there.",
      model::StreamScorer::kWarmUp, context, Seconds(checkpoint, context)));
  text += Item(absl::StrFormat(
      "A cause more than %d instants (%s) before its effect cannot be pointed "
      "back to.",
      earliest, Seconds(checkpoint, earliest)));
  text += Item(
      "Forecasts start from the present sample: what slides away more slowly "
      "than the channel moves by itself may pass unnoticed, unless the channel "
      "rested at one level in training.");
  text += Item(
      "An operating regime that training did not hold looks like an anomaly, "
      "and a fault that training held looks nominal.");
  text += Item(
      "After an anomaly scores may stay raised for minutes, and a second one "
      "in its wake be taken for the first.");
  text += Item(
      "What an anomaly points back to is a ranking, not a proof of cause; the "
      "masking effect above, where there is one, is the evidence.");
  return text;
}

absl::Status WriteCardOf(const model::Checkpoint& checkpoint,
                         const std::string& path,
                         const std::string& card_path) {
  // The version is that of the file as it lies there.
  const auto bytes = model::ReadFile(path, model::TensorFile::kMaxFileBytes);
  if (!bytes.ok()) return bytes.status();
  const auto version = model::Sha256Hex(*bytes);
  if (!version.ok()) return version.status();
  auto file = data::OutputFile::Create(card_path);
  if (!file.ok()) return file.status();
  file->stream() << CardMarkdown(checkpoint, path, *version);
  return file->Close();
}

}  // namespace

std::string CardMarkdown(const model::Checkpoint& checkpoint,
                         const std::string& path, const std::string& version) {
  const Json training = ParseObject(checkpoint.training_record);
  const Json card = ParseObject(checkpoint.card);
  const std::string name = std::filesystem::path(path).filename().string();
  return "# Model card: " + EscapeMarkdown(name) + "\n\n" +
         SummaryText(checkpoint, version) + DataText(checkpoint, training) +
         ChannelsText(checkpoint, training) +
         TrainingText(checkpoint, training) + FalseAlarmsText(checkpoint) +
         EvaluationsText(card) + BlindSpotsText(checkpoint, training, card);
}

std::string CardPath(const std::string& model_path) {
  std::filesystem::path path(model_path);
  // Any other ending may be what tells two models apart.
  if (path.extension() == ".safetensors") path.replace_extension();
  return path.string() + ".card.md";
}

absl::Status WriteCard(const model::Checkpoint& checkpoint,
                       const std::string& path, const std::string& card_path) {
  absl::Status status = WriteCardOf(checkpoint, path, card_path);
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrFormat("the model is saved as %s; its card: %s",
                                      path, std::string(status.message())));
}

}  // namespace telltale::server
