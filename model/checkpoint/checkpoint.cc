#include "model/checkpoint/checkpoint.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

#include "model/checkpoint/file_io.h"
#include "model/checkpoint/scoring_tensors.h"
#include "model/checkpoint/sha256.h"
#include "model/input_encoding.h"

// The file is a safetensors file. Its metadata:
//   format_version   decimal integer
//   channels         JSON: [{name, unit, kind, vocabulary: [{code, label}]}]
//   cadence_ns       decimal integer
//   encoder          JSON: encoder_config.h
//   precision        JSON: {"parameters": "f32"}; per-tensor scales of other
//                    precisions join it
//   threshold, lagged_threshold
//                    JSON: the ThresholdRecords
//   training, card   JSON objects
// and its tensors:
//   every parameter by its path
//   scaler.center, scaler.scale            [channels]
//   those of scoring_tensors.h
//   scoring.combined                       [2, curve]: as it comes, lagged
//   calibration.nominal_scores             [instants]
//   calibration.instants                   [values] I64: recording_sketch.h;
//                                          may be missing

namespace telltale::model {
namespace {

using Json = nlohmann::json;

constexpr char kFormatVersionKey[] = "format_version";
constexpr char kInstants[] = "calibration.instants";

Json ParseJson(const std::string& text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

Json ChannelsToJson(const data::ChannelSet& channels) {
  Json list = Json::array();
  for (const data::Channel& channel : channels.channels()) {
    Json vocabulary = Json::array();
    for (const data::Symbol& symbol : channel.vocabulary) {
      vocabulary.push_back({{"code", symbol.code}, {"label", symbol.label}});
    }
    list.push_back({{"name", channel.name},
                    {"unit", channel.unit},
                    {"kind", std::string(data::ChannelKindName(channel.kind))},
                    {"vocabulary", vocabulary}});
  }
  return list;
}

// The string in field `name`; damaged when it is not one.
absl::StatusOr<std::string> TextField(const Json& json, const char* name) {
  const auto field = json.is_object() ? json.find(name) : json.end();
  if (field == json.end() || !field->is_string()) {
    return Damaged(absl::StrFormat("a channel has no text field %s", name));
  }
  return field->get<std::string>();
}

absl::StatusOr<data::Channel> ChannelFromJson(const Json& json) {
  data::Channel channel;
  auto name = TextField(json, "name");
  if (!name.ok()) return name.status();
  auto unit = TextField(json, "unit");
  if (!unit.ok()) return unit.status();
  auto kind_name = TextField(json, "kind");
  if (!kind_name.ok()) return kind_name.status();
  auto kind = data::ParseChannelKind(*kind_name);
  if (!kind.ok()) return Damaged(kind.status().message());
  channel.name = *std::move(name);
  channel.unit = *std::move(unit);
  channel.kind = *kind;
  const auto vocabulary = json.find("vocabulary");
  if (vocabulary == json.end() || !vocabulary->is_array()) {
    return Damaged("a channel has no vocabulary");
  }
  for (const Json& symbol : *vocabulary) {
    auto label = TextField(symbol, "label");
    const auto code = symbol.is_object() ? symbol.find("code") : symbol.end();
    if (!label.ok() || code == symbol.end() || !code->is_number()) {
      return Damaged("a vocabulary entry has no code and label");
    }
    channel.vocabulary.push_back({code->get<float>(), *std::move(label)});
  }
  return channel;
}

absl::StatusOr<data::ChannelSet> ChannelsFromJson(const std::string& text) {
  const Json json = ParseJson(text);
  if (!json.is_array()) return Damaged("channels is not a list");
  std::vector<data::Channel> channels;
  for (const Json& entry : json) {
    auto channel = ChannelFromJson(entry);
    if (!channel.ok()) return channel.status();
    channels.push_back(*std::move(channel));
  }
  return data::ChannelSet::Create(std::move(channels));
}

Json ThresholdToJson(const ThresholdRecord& record) {
  return {{"threshold", record.threshold},
          {"budget_per_10k", record.budget_per_10k},
          {"instants", record.instants},
          {"events", record.events},
          {"low_per_10k", record.low_per_10k},
          {"high_per_10k", record.high_per_10k}};
}

absl::StatusOr<ThresholdRecord> ThresholdFromJson(const std::string& text) {
  const Json json = ParseJson(text);
  bool valid = json.is_object();
  const auto number = [&](const char* name) {
    const auto field = valid ? json.find(name) : json.end();
    valid = valid && field != json.end() && field->is_number() &&
            std::isfinite(field->get<double>());
    return valid ? field->get<double>() : 0.0;
  };
  // Beyond these a conversion would not be defined.
  const auto bounded = [&](const char* name, double limit) {
    const double value = number(name);
    valid = valid && std::abs(value) <= limit;
    return valid ? value : 0.0;
  };
  ThresholdRecord record;
  record.threshold = static_cast<float>(bounded("threshold", 1e30));
  record.budget_per_10k = number("budget_per_10k");
  record.instants = static_cast<int64_t>(bounded("instants", 1e15));
  record.events = static_cast<int64_t>(bounded("events", 1e15));
  record.low_per_10k = number("low_per_10k");
  record.high_per_10k = number("high_per_10k");
  if (valid && json.contains("verdict_logit")) {
    record.verdict_logit = static_cast<float>(bounded("verdict_logit", 1e30));
  }
  if (!valid) return Damaged("threshold is not a whole record");
  return record;
}

// Fewer floats than the encoder's parameters have, though not by much: what
// must at least be in its file, before memory is taken for them.
double LeastParameters(const EncoderConfig& config) {
  const double width = config.width;
  const double inputs =
      static_cast<double>(config.stem_taps) * config.input_width;
  double count = width * config.output_width() + inputs * width +
                 (inputs + width) * config.stem_hidden;
  for (const LayerConfig& layer : config.layers) {
    count += 2 * width *
             (config.query_columns() + config.value_columns() +
              static_cast<double>(config.feed_forward));
    if (config.distance_bias) {
      count += static_cast<double>(config.heads) * layer.reach;
    }
  }
  return count;
}

absl::Status CheckSize(const TensorFile& file, const EncoderConfig& config) {
  size_t floats = 0;
  for (const auto& [name, tensor] : file.tensors) {
    floats += tensor.values.size();
  }
  if (LeastParameters(config) <= static_cast<double>(floats)) {
    return absl::OkStatus();
  }
  return Damaged("the encoder has more parameters than the file holds");
}

absl::Status ReadParameters(const TensorFile& file, Parameters& parameters) {
  for (const NamedTensor& tensor : parameters.tensors()) {
    auto values = TensorValues(file, tensor.name, tensor.shape);
    if (!values.ok()) return values.status();
    std::ranges::copy(*values, parameters.Tensor(tensor).begin());
  }
  return absl::OkStatus();
}

// The numbers of a tensor of 64-bit integers in one dimension; none when there
// is no such tensor.
absl::StatusOr<std::vector<int64_t>> Integers(const TensorFile& file,
                                              const std::string& name) {
  std::vector<int64_t> values;
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) return values;
  const StoredTensor& tensor = found->second;
  if (tensor.type != TensorType::kI64 || tensor.shape.size() != 1) {
    return Damaged(
        absl::StrFormat("tensor %s does not hold I64 in one dimension", name));
  }
  values.resize(tensor.bytes.size() / sizeof(int64_t));
  std::memcpy(values.data(), tensor.bytes.data(),
              values.size() * sizeof(int64_t));
  return values;
}

StoredTensor StoreIntegers(const std::vector<int64_t>& values) {
  StoredTensor tensor;
  tensor.type = TensorType::kI64;
  tensor.shape = {static_cast<int64_t>(values.size())};
  tensor.bytes.assign(reinterpret_cast<const char*>(values.data()),
                      values.size() * sizeof(int64_t));
  return tensor;
}

absl::Status ReadScaler(const TensorFile& file, int channels, Scaler& scaler) {
  auto center = TensorValues(file, "scaler.center", {channels});
  if (!center.ok()) return center.status();
  auto scale = TensorValues(file, "scaler.scale", {channels});
  if (!scale.ok()) return scale.status();
  for (float value : *scale) {
    if (value <= 0) return Damaged("tensor scaler.scale is not positive");
  }
  scaler.center.assign(center->begin(), center->end());
  scaler.scale.assign(scale->begin(), scale->end());
  return absl::OkStatus();
}

// Everything but the channels, configuration and parameters.
absl::Status ReadCalibration(const TensorFile& file, Checkpoint& checkpoint) {
  if (auto s = ReadScaler(file, checkpoint.channels.size(), checkpoint.scaler);
      !s.ok()) {
    return s;
  }
  auto scoring = ReadScoring(file, checkpoint.config);
  if (!scoring.ok()) return scoring.status();
  checkpoint.scoring = *std::move(scoring);
  std::vector<TailCurve> combined;
  if (auto s = ReadCurves(file, "scoring.combined", 2, combined); !s.ok()) {
    return s;
  }
  checkpoint.combined = combined.front();
  checkpoint.lagged_combined = combined.back();
  const auto scores = file.tensors.find("calibration.nominal_scores");
  if (scores == file.tensors.end() || scores->second.shape.size() != 1) {
    return Damaged("tensor calibration.nominal_scores is missing");
  }
  auto nominal =
      TensorValues(file, "calibration.nominal_scores", scores->second.shape);
  if (!nominal.ok()) return nominal.status();
  checkpoint.nominal_scores.assign(nominal->begin(), nominal->end());
  const auto instants = Integers(file, kInstants);
  if (!instants.ok()) return instants.status();
  checkpoint.instants = RecordingSketch::FromValues(*instants);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Checkpoint> Checkpoint::FromFile(const TensorFile& file) {
  const auto text = [&](const char* key) {
    const auto found = file.metadata.find(key);
    return found == file.metadata.end() ? std::string() : found->second;
  };
  if (text(kFormatVersionKey).empty()) {
    return Damaged("there is no format_version; is this a Telltale model?");
  }
  if (text(kFormatVersionKey) != std::to_string(kFormatVersion)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the checkpoint has format version %s; this build reads version %d: "
        "train again, or use the build that wrote it",
        text(kFormatVersionKey).substr(0, 16), kFormatVersion));
  }
  auto channels = ChannelsFromJson(text("channels"));
  if (!channels.ok()) return Damaged(channels.status().message());
  auto config = EncoderConfigFromJson(text("encoder"));
  if (!config.ok()) return Damaged(config.status().message());

  // The inputs and targets follow from the channels.
  const Scaler unscaled;
  const InputEncoding encoding(*channels, unscaled);
  if (config->input_width != encoding.width() ||
      config->targets != static_cast<int>(encoding.targets().size())) {
    return Damaged("the encoder does not fit the channels");
  }
  if (auto s = CheckSize(file, *config); !s.ok()) return s;
  Checkpoint checkpoint{
      .channels = *std::move(channels),
      .config = *config,
      .parameters = Parameters(*config, encoding.stand_ins())};
  if (!absl::SimpleAtoi(text("cadence_ns"), &checkpoint.cadence_ns) ||
      checkpoint.cadence_ns <= 0) {
    return Damaged("cadence_ns is not a positive number");
  }
  for (const auto& [key, record] :
       {std::pair("threshold", &checkpoint.threshold),
        std::pair("lagged_threshold", &checkpoint.lagged_threshold)}) {
    auto threshold = ThresholdFromJson(text(key));
    if (!threshold.ok()) return threshold.status();
    *record = *threshold;
  }
  for (const char* key : {"training", "card"}) {
    if (!ParseJson(text(key)).is_object()) {
      return Damaged(absl::StrFormat("%s is not a JSON object", key));
    }
  }
  checkpoint.training_record = text("training");
  checkpoint.card = text("card");
  if (auto s = ReadParameters(file, checkpoint.parameters); !s.ok()) return s;
  if (auto s = ReadCalibration(file, checkpoint); !s.ok()) return s;
  return checkpoint;
}

TensorFile Checkpoint::ToFile() const {
  TensorFile file;
  Json record = ThresholdToJson(threshold);
  if (config.verdict) record["verdict_logit"] = threshold.verdict_logit;
  file.metadata = {
      {kFormatVersionKey, std::to_string(kFormatVersion)},
      {"channels", ChannelsToJson(channels).dump()},
      {"cadence_ns", std::to_string(cadence_ns)},
      {"encoder", EncoderConfigToJson(config)},
      {"precision", R"({"parameters":"f32"})"},
      {"threshold", record.dump()},
      {"lagged_threshold", ThresholdToJson(lagged_threshold).dump()},
      {"training", training_record},
      {"card", card}};
  for (const NamedTensor& tensor : parameters.tensors()) {
    file.tensors[tensor.name] =
        StoredTensor::Of(tensor.shape, parameters.Tensor(tensor));
  }
  const int64_t count = channels.size();
  file.tensors["scaler.center"] = StoredTensor::Of({count}, scaler.center);
  file.tensors["scaler.scale"] = StoredTensor::Of({count}, scaler.scale);
  StoreScoring(scoring, file);
  const TailCurve both[] = {combined, lagged_combined};
  file.tensors["scoring.combined"] = StoreCurves(both);
  file.tensors["calibration.nominal_scores"] = StoredTensor::Of(
      {static_cast<int64_t>(nominal_scores.size())}, nominal_scores);
  if (!instants.empty()) {
    file.tensors[kInstants] = StoreIntegers(instants.Values());
  }
  return file;
}

absl::StatusOr<Checkpoint> Checkpoint::Load(const std::filesystem::path& path,
                                            std::string* version) {
  auto bytes = ReadFile(path, TensorFile::kMaxFileBytes);
  if (!bytes.ok()) return bytes.status();
  const auto named = [&](const absl::Status& status) {
    return absl::Status(status.code(),
                        absl::StrFormat("%s: %s", path.string(),
                                        std::string(status.message())));
  };
  auto file = TensorFile::Parse(*bytes);
  if (!file.ok()) return named(file.status());
  auto checkpoint = FromFile(*file);
  if (!checkpoint.ok()) return named(checkpoint.status());
  if (version != nullptr) {
    auto digest = Sha256Hex(*bytes);
    if (!digest.ok()) return digest.status();
    *version = *std::move(digest);
  }
  return checkpoint;
}

absl::Status Checkpoint::Save(const std::filesystem::path& path) const {
  return ToFile().Write(path);
}

}  // namespace telltale::model
