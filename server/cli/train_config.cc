#include "server/cli/train_config.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"
#include <toml++/toml.h>

#include "server/cli/toml_fields.h"

namespace telltale::server {
namespace {

absl::Status ReadTraining(const std::string& path, const toml::node& node,
                          TrainConfig& config) {
  const auto table = TomlTable(path, node, "training");
  if (!table.ok()) return table.status();
  model::TrainingOptions& o = config.options;
  std::string false_alarms;
  const std::vector<TomlField> fields = {
      {"seed", &o.seed},
      {"threads", &o.threads, 0, 256},
      {"steps", &o.steps, 0, 1e7},
      {"batch", &o.batch, 1, 1024},
      {"window", &o.window, 0, 65'536},
      {"learning_rate", &o.learning_rate, 1e-9, 1},
      {"warm_up_steps", &o.warm_up_steps, 0, 1e6},
      {"weight_decay", &o.weight_decay, 0, 1},
      {"clip_norm", &o.clip_norm, 1e-6, 1e6},
      {"held_out", &o.held_out, 0.05, 0.9},
      {"false_alarms", &false_alarms},
  };
  if (auto s = ReadTomlFields(path, **table, "[training]", fields); !s.ok()) {
    return s;
  }
  if (false_alarms.empty()) return absl::OkStatus();
  const auto budget = FalseAlarmBudget::Parse(false_alarms);
  if (!budget.ok()) {
    return TomlError(path, (*table)->get("false_alarms")->source(),
                     std::string(budget.status().message()));
  }
  config.false_alarms = *budget;
  return absl::OkStatus();
}

absl::Status ReadEvidence(const std::string& path, const toml::node& node,
                          model::EvidenceParts& parts) {
  const auto table = TomlTable(path, node, "evidence");
  if (!table.ok()) return table.status();
  const std::vector<TomlField> fields = {
      {"explaining", &parts.explaining}, {"magnitude", &parts.magnitude},
      {"average", &parts.average},       {"absence", &parts.absence},
      {"level", &parts.level},           {"slow", &parts.slow},
      {"novelty", &parts.novelty}};
  return ReadTomlFields(path, **table, "[evidence]", fields);
}

absl::StatusOr<model::LayerConfig> ReadLayer(const std::string& path,
                                             const toml::node& node) {
  const auto table = TomlTable(path, node, "encoder.layers");
  if (!table.ok()) return table.status();
  model::LayerConfig layer;
  std::string key_source = "layer";
  const std::vector<TomlField> fields = {
      {"key_source", &key_source},
      {"reach", &layer.reach, 1, 65'536},
      {"blind_heads", &layer.blind_heads, 0, 64},
      {"blind_span", &layer.blind_span, 0, 65'535},
  };
  if (auto s = ReadTomlFields(path, **table, "[[encoder.layers]]", fields);
      !s.ok()) {
    return s;
  }
  if (key_source != "layer" && key_source != "stem") {
    return TomlError(path, (*table)->get("key_source")->source(),
                     absl::StrFormat("key_source is '%s'; expected 'layer' or "
                                     "'stem'",
                                     key_source));
  }
  layer.key_source =
      key_source == "stem" ? model::KeySource::kStem : model::KeySource::kLayer;
  return layer;
}

absl::Status ReadEncoder(const std::string& path, const toml::node& node,
                         model::EncoderConfig& encoder) {
  const auto table = TomlTable(path, node, "encoder");
  if (!table.ok()) return table.status();
  const std::vector<TomlField> fields = {
      {"width", &encoder.width, 1, 4096},
      {"heads", &encoder.heads, 1, 64},
      {"query_width", &encoder.query_width, 1, 512},
      {"value_width", &encoder.value_width, 1, 512},
      {"feed_forward", &encoder.feed_forward, 1, 16'384},
      {"stem_taps", &encoder.stem_taps, 1, 64},
      {"stem_hidden", &encoder.stem_hidden, 0, 16'384},
      {"rotary", &encoder.rotary},
      {"rotary_base", &encoder.rotary_base, 1.000001, 1e9},
      {"distance_bias", &encoder.distance_bias},
      {"null_logit", &encoder.null_logit},
      {"horizons", &encoder.horizons, 1, 1024},
      {"layers", nullptr},
  };
  if (auto s = ReadTomlFields(path, **table, "[encoder]", fields); !s.ok()) {
    return s;
  }
  const toml::node* layers = (*table)->get("layers");
  if (layers != nullptr) {
    const toml::array* list = layers->as_array();
    if (list == nullptr || list->empty()) {
      return TomlError(path, layers->source(),
                       "layers: expected tables, each as [[encoder.layers]]");
    }
    encoder.layers.clear();
    for (const toml::node& entry : *list) {
      auto layer = ReadLayer(path, entry);
      if (!layer.ok()) return layer.status();
      encoder.layers.push_back(*layer);
    }
  }
  // Inputs and targets come with the channels; any will do to check the rest.
  model::EncoderConfig checked = encoder;
  checked.input_width = 1;
  checked.targets = 1;
  if (auto s = checked.Validate(); !s.ok()) {
    return TomlError(path, node.source(), std::string(s.message()));
  }
  return absl::OkStatus();
}

// A list of codes, or a table from labels to codes.
absl::StatusOr<std::vector<data::Symbol>> ReadVocabulary(
    const std::string& path, const toml::node& node) {
  std::vector<data::Symbol> vocabulary;
  bool valid = true;
  const auto add = [&](const toml::node& code, std::string label) {
    const auto value = code.is_number() ? code.value<double>() : std::nullopt;
    valid = valid && value && std::abs(*value) <= 1e30;
    if (!valid) return;
    const auto number = static_cast<float>(*value);
    if (label.empty()) label = absl::StrFormat("%g", number);
    vocabulary.push_back({number, std::move(label)});
  };
  if (const toml::array* list = node.as_array()) {
    for (const toml::node& code : *list) add(code, "");
  } else if (const toml::table* labels = node.as_table()) {
    for (const auto& [label, code] : *labels) {
      add(code, std::string(label.str()));
    }
  }
  if (!valid || vocabulary.empty()) {
    return TomlError(path, node.source(),
                     "vocabulary: expected codes like [0, 1, 2], or labels "
                     "with codes like { shut = 0, open = 1 }");
  }
  std::ranges::sort(vocabulary, {}, &data::Symbol::code);
  const auto twice =
      std::ranges::adjacent_find(vocabulary, {}, &data::Symbol::code);
  if (twice != vocabulary.end()) {
    return TomlError(
        path, node.source(),
        absl::StrFormat("vocabulary: the code %g stands twice", twice->code));
  }
  return vocabulary;
}

absl::StatusOr<ChannelDeclaration> ReadChannel(const std::string& path,
                                               const toml::key& key,
                                               const toml::node& node) {
  ChannelDeclaration channel;
  channel.name = std::string(key.str());
  channel.place = absl::StrFormat("%s:%d:%d", path, key.source().begin.line,
                                  key.source().begin.column);
  const std::string section = absl::StrFormat("channels.\"%s\"", channel.name);
  const auto table = TomlTable(path, node, section);
  if (!table.ok()) return table.status();
  std::string kind;
  std::string unit;
  const std::vector<TomlField> fields = {
      {"kind", &kind}, {"unit", &unit}, {"vocabulary", nullptr}};
  if (auto s = ReadTomlFields(path, **table, absl::StrFormat("[%s]", section),
                              fields);
      !s.ok()) {
    return s;
  }
  if ((*table)->contains("unit")) channel.unit = unit;
  if (const toml::node* given = (*table)->get("kind")) {
    const auto parsed = data::ParseChannelKind(kind);
    if (!parsed.ok()) {
      return TomlError(path, given->source(),
                       std::string(parsed.status().message()));
    }
    channel.kind = *parsed;
  }
  if (const toml::node* given = (*table)->get("vocabulary")) {
    if (channel.kind != data::ChannelKind::kDiscrete) {
      return TomlError(path, given->source(),
                       "vocabulary: only a channel with kind = \"discrete\" "
                       "has one");
    }
    auto vocabulary = ReadVocabulary(path, *given);
    if (!vocabulary.ok()) return vocabulary.status();
    channel.vocabulary = *std::move(vocabulary);
  }
  return channel;
}

absl::StatusOr<TrainConfig> ReadTables(const toml::table& root,
                                       const std::string& path) {
  if (auto s = ReadTomlFields(path, root, "a training configuration",
                              {{"training", nullptr},
                               {"encoder", nullptr},
                               {"evidence", nullptr},
                               {"channels", nullptr}});
      !s.ok()) {
    return s;
  }
  TrainConfig config;
  if (const toml::node* node = root.get("training")) {
    if (auto s = ReadTraining(path, *node, config); !s.ok()) return s;
  }
  if (const toml::node* node = root.get("encoder")) {
    if (auto s = ReadEncoder(path, *node, config.options.encoder); !s.ok()) {
      return s;
    }
  }
  if (const toml::node* node = root.get("evidence")) {
    if (auto s = ReadEvidence(path, *node, config.options.evidence); !s.ok()) {
      return s;
    }
  }
  if (const toml::node* node = root.get("channels")) {
    const auto channels = TomlTable(path, *node, "channels");
    if (!channels.ok()) return channels.status();
    for (const auto& [key, entry] : **channels) {
      auto channel = ReadChannel(path, key, entry);
      if (!channel.ok()) return channel.status();
      config.channels.push_back(*std::move(channel));
    }
  }
  return config;
}

// The values of a channel, as a vocabulary.
absl::StatusOr<std::vector<data::Symbol>> CollectVocabulary(
    const ChannelDeclaration& declaration,
    const std::vector<data::Series>& segments, int channel) {
  std::set<float> codes;
  for (const data::Series& segment : segments) {
    for (int t = 0; t < segment.length(); ++t) {
      const float x = segment.Instant(t)[static_cast<size_t>(channel)];
      if (!std::isnan(x)) codes.insert(x);
      if (codes.size() > kMaxSymbols) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "%s: channel '%s' has more than %d values; give the vocabulary "
            "that matters, or make it continuous",
            declaration.place, declaration.name, kMaxSymbols));
      }
    }
  }
  std::vector<data::Symbol> vocabulary;
  vocabulary.reserve(codes.size());
  for (const float code : codes) {
    vocabulary.push_back({code, absl::StrFormat("%g", code)});
  }
  return vocabulary;
}

absl::Status Declare(const ChannelDeclaration& declaration,
                     const std::vector<data::Series>& segments, int index,
                     data::Channel& channel) {
  if (declaration.unit) {
    if (!channel.unit.empty() && channel.unit != *declaration.unit) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s: channel '%s' is declared in '%s', and the data has it in '%s'",
          declaration.place, channel.name, *declaration.unit, channel.unit));
    }
    channel.unit = *declaration.unit;
  }
  if (!declaration.kind) return absl::OkStatus();
  channel.kind = *declaration.kind;
  channel.vocabulary = declaration.vocabulary;
  if (channel.kind != data::ChannelKind::kDiscrete ||
      !channel.vocabulary.empty()) {
    return absl::OkStatus();
  }
  auto vocabulary = CollectVocabulary(declaration, segments, index);
  if (!vocabulary.ok()) return vocabulary.status();
  channel.vocabulary = *std::move(vocabulary);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TrainConfig> ReadTrainConfig(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return absl::NotFoundError(
        absl::StrFormat("%s: no such settings file", path));
  }
  try {
    return ReadTables(toml::parse_file(path), path);
  } catch (const toml::parse_error& failure) {
    return TomlError(path, failure.source(), failure.description());
  }
}

absl::StatusOr<TrainConfig> ParseTrainConfig(std::string_view text,
                                             const std::string& path) {
  try {
    return ReadTables(toml::parse(text, path), path);
  } catch (const toml::parse_error& failure) {
    return TomlError(path, failure.source(), failure.description());
  }
}

absl::Status DeclareChannels(
    const std::vector<ChannelDeclaration>& declarations,
    std::vector<data::Series>& segments) {
  std::vector<data::Channel> channels = segments.front().channels.channels();
  for (const ChannelDeclaration& declaration : declarations) {
    const auto index = segments.front().channels.Find(declaration.name);
    if (!index) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s: the data has no channel '%s'; its first is '%s'",
          declaration.place, declaration.name, channels.front().name));
    }
    if (auto s = Declare(declaration, segments, *index,
                         channels[static_cast<size_t>(*index)]);
        !s.ok()) {
      return s;
    }
  }
  auto set = data::ChannelSet::Create(std::move(channels));
  if (!set.ok()) return set.status();
  for (data::Series& segment : segments) segment.channels = *set;
  return absl::OkStatus();
}

}  // namespace telltale::server
