#include "server/cli/model_card.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"
#include <nlohmann/json.hpp>

#include "model/scoring/verdict_threshold.h"
#include "server/cli/card_text.h"

namespace telltale::server {
namespace {

std::string FileSize(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  if (error) return "size unknown";
  return absl::StrFormat("%s KiB",
                         Grouped((static_cast<int64_t>(bytes) + 1023) / 1024));
}

std::string Line(const char* label, const std::string& text) {
  return absl::StrFormat("  %-11s %s\n", label, text);
}

// "threshold" and its history, the label left to the caller.
std::string ThresholdText(const model::ThresholdRecord& record) {
  const double per_10k =
      10'000.0 * static_cast<double>(record.events) /
      static_cast<double>(std::max<int64_t>(1, record.instants));
  return absl::StrFormat(
      "%.2f, for a budget of %.4g false-alarm events per 10,000 instants; "
      "%s in %s held-out instants, %s per 10,000 (95 %% interval %s to %s)",
      record.threshold, record.budget_per_10k, Grouped(record.events),
      Grouped(record.instants), RateText(per_10k), RateText(record.low_per_10k),
      RateText(record.high_per_10k));
}

// What must be known before the model is relied on.
std::string CautionText(const model::Checkpoint& checkpoint) {
  std::string text;
  if (IsQuick(checkpoint)) {
    text += Line("caution",
                 "a quick model (--quick), to try things out: train without it "
                 "before relying on what it says");
  }
  const std::string wide = WideIntervalText(checkpoint);
  if (!wide.empty()) text += Line("caution", wide);
  return text;
}

std::string VerdictText(const model::Checkpoint& checkpoint) {
  return absl::StrFormat(
      "anomalous above %.4g, chosen on held-out labels; %s instants labelled",
      model::VerdictProbability(checkpoint.threshold.verdict_logit),
      FieldText(ParseObject(checkpoint.training_record), "labelled_instants"));
}

std::string StepsText(const Json& training) {
  std::string text = absl::StrFormat(
      "%s steps, best at step %s; loss %s, held out %s",
      FieldText(training, "steps"), FieldText(training, "best_step"),
      FieldText(training, "loss"), FieldText(training, "held_out_loss"));
  const auto stopped = training.find("stopped_early");
  if (stopped != training.end() && *stopped == true) {
    text += "; stopped by hand";
  }
  return text;
}

std::string LayerText(const model::EncoderConfig& config,
                      const model::LayerConfig& layer) {
  std::string text = absl::StrFormat(
      "keys from the %s, over %d instants",
      layer.key_source == model::KeySource::kStem ? "stem" : "layer's input",
      layer.reach);
  if (layer.blind_heads > 0 && layer.blind_span > 0) {
    text += absl::StrFormat("; %d of %d heads blind to the last %d",
                            layer.blind_heads, config.heads, layer.blind_span);
  }
  return text;
}

std::string LayersText(const model::EncoderConfig& config) {
  std::string text = "\nlayers\n";
  for (size_t i = 0; i < config.layers.size(); ++i) {
    text += Line(absl::StrFormat("%d", i).c_str(),
                 LayerText(config, config.layers[i]));
  }
  return text;
}

std::string VocabularyText(const data::Channel& channel) {
  std::string text;
  for (const data::Symbol& symbol : channel.vocabulary) {
    const std::string code = absl::StrFormat("%g", symbol.code);
    text += text.empty() ? ": " : ", ";
    text += symbol.label == code
                ? code
                : absl::StrFormat("%s = %s", symbol.label, code);
  }
  return text;
}

std::string ChannelsText(const data::ChannelSet& channels) {
  std::string text = absl::StrFormat("\nchannels (%d)\n", channels.size());
  size_t widest = 0;
  for (const data::Channel& channel : channels.channels()) {
    widest = std::max(widest, channel.name.size());
  }
  const int width = static_cast<int>(std::min<size_t>(widest, 40));
  for (const data::Channel& channel : channels.channels()) {
    text += absl::StrFormat("  %-*s  %-8s  %s%s\n", width, channel.name,
                            channel.unit.empty() ? "-" : channel.unit,
                            data::ChannelKindName(channel.kind),
                            VocabularyText(channel));
  }
  return text;
}

std::string TrainingText(const model::Checkpoint& checkpoint) {
  const Json training = ParseObject(checkpoint.training_record);
  const Json card = ParseObject(checkpoint.card);
  std::string text = "\ntraining\n";
  text += Line("data", absl::StrFormat("%s instants in %s segment(s), %s to %s",
                                       FieldText(training, "instants"),
                                       FieldText(training, "segments"),
                                       TimeText(training, "first_time_ns"),
                                       TimeText(training, "last_time_ns")));
  text += Line("SHA-256", FieldText(training, "data_sha256"));
  text += Line("seed", FieldText(training, "seed"));
  text += Line("steps", StepsText(training));
  const auto files = card.find("data");
  if (files != card.end() && files->is_array()) {
    for (const Json& file : *files) {
      text += Line("file",
                   file.is_string() ? file.get<std::string>() : file.dump());
    }
  }
  if (card.contains("software")) {
    text += Line("software", FieldText(card, "software"));
  }
  return text;
}

Json EncoderJson(const model::EncoderConfig& config) {
  return ParseObject(model::EncoderConfigToJson(config));
}

Json ChannelsJson(const data::ChannelSet& channels) {
  Json list = Json::array();
  for (const data::Channel& channel : channels.channels()) {
    Json entry = {{"name", channel.name},
                  {"unit", channel.unit},
                  {"kind", std::string(data::ChannelKindName(channel.kind))}};
    for (const data::Symbol& symbol : channel.vocabulary) {
      entry["vocabulary"].push_back(
          {{"code", symbol.code}, {"label", symbol.label}});
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

std::string ModelCard(const model::Checkpoint& checkpoint,
                      const std::string& path, const std::string& version) {
  const model::EncoderConfig& config = checkpoint.config;
  const double cadence = 1e-9 * static_cast<double>(checkpoint.cadence_ns);
  std::string horizons;
  for (const int horizon : config.horizons) {
    horizons += absl::StrFormat("%s%d", horizons.empty() ? "" : ", ", horizon);
  }
  std::string text = absl::StrFormat("%s\n", path);
  text += Line("version", version);
  text += Line("format",
               absl::StrFormat("%d, %s", model::Checkpoint::kFormatVersion,
                               FileSize(path)));
  text +=
      Line("parameters",
           absl::StrFormat("%s, float32", Grouped(ParameterCount(checkpoint))));
  text += Line("cadence", absl::StrFormat("%.6g s", cadence));
  text += Line("context",
               absl::StrFormat("%d instants, %.6g s", config.context_length(),
                               cadence * config.context_length()));
  text += Line("horizons", absl::StrFormat("%s instants ahead", horizons));
  text += Line("width",
               absl::StrFormat("%d, %d heads, stem over %d instants",
                               config.width, config.heads, config.stem_taps));
  text += Line("threshold", ThresholdText(checkpoint.threshold));
  if (config.verdict) text += Line("verdict", VerdictText(checkpoint));
  text += CautionText(checkpoint);
  return text + LayersText(config) + ChannelsText(checkpoint.channels) +
         TrainingText(checkpoint);
}

std::string ModelCardJson(const model::Checkpoint& checkpoint,
                          const std::string& path, const std::string& version) {
  const model::ThresholdRecord& threshold = checkpoint.threshold;
  const Json json = {{"file", path},
                     {"version", version},
                     {"format_version", model::Checkpoint::kFormatVersion},
                     {"parameters", ParameterCount(checkpoint)},
                     {"precision", "f32"},
                     {"cadence_ns", checkpoint.cadence_ns},
                     {"context_length", checkpoint.config.context_length()},
                     {"horizons", checkpoint.config.horizons},
                     {"encoder", EncoderJson(checkpoint.config)},
                     {"channels", ChannelsJson(checkpoint.channels)},
                     {"threshold",
                      {{"threshold", threshold.threshold},
                       {"budget_per_10k", threshold.budget_per_10k},
                       {"instants", threshold.instants},
                       {"events", threshold.events},
                       {"low_per_10k", threshold.low_per_10k},
                       {"high_per_10k", threshold.high_per_10k}}},
                     {"training", ParseObject(checkpoint.training_record)},
                     {"card", ParseObject(checkpoint.card)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string TrainingSummary(const model::Checkpoint& checkpoint,
                            const std::string& path, const std::string& card) {
  return absl::StrFormat("%s, %s\n", path, FileSize(path)) +
         Line("parameters", Grouped(ParameterCount(checkpoint))) +
         Line("training", StepsText(ParseObject(checkpoint.training_record))) +
         Line("threshold", ThresholdText(checkpoint.threshold)) +
         Line("card", card) + CautionText(checkpoint);
}

}  // namespace telltale::server
