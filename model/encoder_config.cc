#include "model/encoder_config.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace telltale::model {
namespace {

using Json = nlohmann::json;

absl::Status CheckRange(const char* name, int value, int low, int high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("encoder setting %s is %d; it must lie in [%d, %d]", name,
                      value, low, high));
}

absl::Status CheckLayer(const EncoderConfig& config, const LayerConfig& layer) {
  if (auto s = CheckRange("reach", layer.reach, 1, 65536); !s.ok()) return s;
  if (auto s = CheckRange("blind_heads", layer.blind_heads, 0, config.heads);
      !s.ok()) {
    return s;
  }
  if (auto s = CheckRange("blind_span", layer.blind_span, 0, layer.reach - 1);
      !s.ok()) {
    return s;
  }
  if (layer.blind_heads > 0 && layer.blind_span > 0 && !config.null_logit) {
    return absl::InvalidArgumentError(
        "encoder setting blind_span needs null_logit: a blind head sees "
        "nothing at the start of a stream");
  }
  return absl::OkStatus();
}

absl::Status CheckHorizons(const std::vector<int>& horizons) {
  if (horizons.empty() || horizons.size() > 16) {
    return absl::InvalidArgumentError(
        absl::StrFormat("encoder setting horizons has %d entries; it must have "
                        "1 to 16",
                        horizons.size()));
  }
  int previous = 0;
  for (int horizon : horizons) {
    if (horizon <= previous || horizon > 1024) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "encoder setting horizons holds %d after %d; it must rise within "
          "[1, 1024]",
          horizon, previous));
    }
    previous = horizon;
  }
  return absl::OkStatus();
}

}  // namespace

int EncoderConfig::context_length() const {
  int longest = 1;
  for (const LayerConfig& layer : layers) {
    longest = std::max(longest, layer.reach);
  }
  return longest;
}

int EncoderConfig::receptive_field() const {
  // Walks the layers upwards: a stem-keyed layer reaches `reach` instants of
  // the stem, whatever the layers below have seen.
  int below = stem_taps;
  for (const LayerConfig& layer : layers) {
    const int through_keys =
        layer.reach - 1 +
        (layer.key_source == KeySource::kStem ? stem_taps : below);
    below = std::max(below, through_keys);
  }
  return below;
}

absl::Status EncoderConfig::Validate() const {
  struct Range {
    const char* name;
    int value, low, high;
  };
  const Range ranges[] = {
      {"input_width", input_width, 1, 65536},
      {"width", width, 1, 4096},
      {"heads", heads, 1, 64},
      {"query_width", query_width, 1, 512},
      {"value_width", value_width, 1, 512},
      {"feed_forward", feed_forward, 1, 16384},
      {"stem_taps", stem_taps, 1, 64},
      {"stem_hidden", stem_hidden, 0, 16384},
      {"targets", targets, 1, 65536},
      {"layers", static_cast<int>(layers.size()), 1, 64},
  };
  for (const Range& r : ranges) {
    if (auto s = CheckRange(r.name, r.value, r.low, r.high); !s.ok()) return s;
  }
  if (rotary && query_width % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "encoder setting query_width is %d; rotary positions need it even",
        query_width));
  }
  if (rotary && !(rotary_base > 1 && rotary_base <= 1e9)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "encoder setting rotary_base is %g; it must lie in (1, 1e9]",
        rotary_base));
  }
  for (const LayerConfig& layer : layers) {
    if (auto s = CheckLayer(*this, layer); !s.ok()) return s;
  }
  return CheckHorizons(horizons);
}

std::string EncoderConfigToJson(const EncoderConfig& config) {
  Json layers = Json::array();
  for (const LayerConfig& layer : config.layers) {
    layers.push_back({
        {"key_source", layer.key_source == KeySource::kStem ? "stem" : "layer"},
        {"reach", layer.reach},
        {"blind_heads", layer.blind_heads},
        {"blind_span", layer.blind_span},
    });
  }
  Json json = {
      {"input_width", config.input_width},
      {"width", config.width},
      {"heads", config.heads},
      {"query_width", config.query_width},
      {"value_width", config.value_width},
      {"feed_forward", config.feed_forward},
      {"stem_taps", config.stem_taps},
      {"stem_hidden", config.stem_hidden},
      {"rotary", config.rotary},
      {"rotary_base", config.rotary_base},
      {"distance_bias", config.distance_bias},
      {"null_logit", config.null_logit},
      {"layers", layers},
      {"horizons", config.horizons},
      {"targets", config.targets},
  };
  if (config.verdict) json["verdict"] = true;
  return json.dump();
}

namespace {

// Reads typed fields, remembering the first that is absent or of another type.
class FieldReader {
 public:
  explicit FieldReader(const Json& json) : json_(json) {}

  int Int(const char* name) {
    const Json* field = Field(name);
    if (field == nullptr || !field->is_number_integer()) return Fail(name);
    const auto value = field->get<int64_t>();
    if (value < -(1 << 30) || value > (1 << 30)) return Fail(name);
    return static_cast<int>(value);
  }
  bool Bool(const char* name) {
    const Json* field = Field(name);
    if (field == nullptr || !field->is_boolean()) return Fail(name) != 0;
    return field->get<bool>();
  }
  double Number(const char* name) {
    const Json* field = Field(name);
    if (field == nullptr || !field->is_number()) return Fail(name);
    return field->get<double>();
  }
  std::string Text(const char* name) {
    const Json* field = Field(name);
    if (field == nullptr || !field->is_string()) {
      Fail(name);
      return "";
    }
    return field->get<std::string>();
  }
  absl::Status status() const {
    if (bad_field_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrFormat(
        "encoder configuration: %s is missing or of the wrong type",
        bad_field_));
  }

 private:
  const Json* Field(const char* name) const {
    if (!json_.is_object()) return nullptr;
    const auto it = json_.find(name);
    return it == json_.end() ? nullptr : &*it;
  }
  int Fail(const char* name) {
    if (bad_field_.empty()) bad_field_ = name;
    return 0;
  }

  const Json& json_;
  std::string bad_field_;
};

absl::StatusOr<LayerConfig> ReadLayer(const Json& json) {
  FieldReader fields(json);
  LayerConfig layer;
  const std::string source = fields.Text("key_source");
  layer.key_source = source == "stem" ? KeySource::kStem : KeySource::kLayer;
  layer.reach = fields.Int("reach");
  layer.blind_heads = fields.Int("blind_heads");
  layer.blind_span = fields.Int("blind_span");
  if (!fields.status().ok()) return fields.status();
  if (source != "stem" && source != "layer") {
    return absl::InvalidArgumentError(absl::StrFormat(
        "encoder configuration: key_source is \"%s\"; expected \"layer\" or "
        "\"stem\"",
        source));
  }
  return layer;
}

}  // namespace

absl::StatusOr<EncoderConfig> EncoderConfigFromJson(std::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr,
                                /*allow_exceptions=*/false);
  FieldReader fields(json);
  EncoderConfig config;
  config.input_width = fields.Int("input_width");
  config.width = fields.Int("width");
  config.heads = fields.Int("heads");
  config.query_width = fields.Int("query_width");
  config.value_width = fields.Int("value_width");
  config.feed_forward = fields.Int("feed_forward");
  config.stem_taps = fields.Int("stem_taps");
  config.stem_hidden = fields.Int("stem_hidden");
  config.rotary = fields.Bool("rotary");
  config.rotary_base = fields.Number("rotary_base");
  config.distance_bias = fields.Bool("distance_bias");
  config.null_logit = fields.Bool("null_logit");
  config.targets = fields.Int("targets");
  if (json.is_object() && json.contains("verdict")) {
    config.verdict = fields.Bool("verdict");
  }
  if (!fields.status().ok()) return fields.status();

  config.layers.clear();
  config.horizons.clear();
  const auto layers = json.find("layers");
  const auto horizons = json.find("horizons");
  if (layers == json.end() || !layers->is_array() || layers->size() > 64 ||
      horizons == json.end() || !horizons->is_array() ||
      horizons->size() > 16) {
    return absl::InvalidArgumentError(
        "encoder configuration: layers and horizons must be lists");
  }
  for (const Json& layer : *layers) {
    auto read = ReadLayer(layer);
    if (!read.ok()) return read.status();
    config.layers.push_back(*read);
  }
  for (const Json& horizon : *horizons) {
    if (!horizon.is_number_integer()) {
      return absl::InvalidArgumentError(
          "encoder configuration: horizons must be integers");
    }
    const auto value = horizon.get<int64_t>();
    config.horizons.push_back(
        value > 0 && value <= 1024 ? static_cast<int>(value) : 0);
  }
  if (auto s = config.Validate(); !s.ok()) return s;
  return config;
}

}  // namespace telltale::model
