#include "server/rpc/convert.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "absl/strings/str_format.h"

#include "server/rpc/error_details.h"

namespace telltale::server {
namespace {

namespace v1 = ::telltale::v1;

constexpr size_t kMaxTenantBytes = 64;
constexpr size_t kMaxStreamBytes = 256;
// A quarter of what a gRPC client takes unless told otherwise.
constexpr size_t kMaxAnswerBytes = 1 << 20;
constexpr int kFewestPoints = 5;

absl::Status CheckName(std::string_view field, const std::string& name,
                       size_t max_bytes) {
  if (name.empty() || name.size() > max_bytes) {
    return FieldError(field, absl::StrFormat("the name has %d bytes; 1 to %d "
                                             "are taken",
                                             name.size(), max_bytes));
  }
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) continue;
    return FieldError(field,
                      absl::StrFormat("the name holds the control character "
                                      "%d; use printable ones",
                                      byte));
  }
  return absl::OkStatus();
}

v1::InstantState StateToProto(model::InstantState state) {
  switch (state) {
    case model::InstantState::kScored:
      return v1::INSTANT_STATE_SCORED;
    case model::InstantState::kWarmingUp:
      return v1::INSTANT_STATE_WARMING_UP;
    case model::InstantState::kIncomplete:
      return v1::INSTANT_STATE_INCOMPLETE;
    case model::InstantState::kLate:
      return v1::INSTANT_STATE_LATE;
  }
  return v1::INSTANT_STATE_UNSPECIFIED;
}

model::InstantState StateFromProto(v1::InstantState state) {
  switch (state) {
    case v1::INSTANT_STATE_SCORED:
      return model::InstantState::kScored;
    case v1::INSTANT_STATE_INCOMPLETE:
      return model::InstantState::kIncomplete;
    case v1::INSTANT_STATE_LATE:
      return model::InstantState::kLate;
    default:
      return model::InstantState::kWarmingUp;
  }
}

v1::ChannelKind KindToProto(data::ChannelKind kind) {
  switch (kind) {
    case data::ChannelKind::kContinuous:
      return v1::CHANNEL_KIND_CONTINUOUS;
    case data::ChannelKind::kDiscrete:
      return v1::CHANNEL_KIND_DISCRETE;
    case data::ChannelKind::kCommand:
      return v1::CHANNEL_KIND_COMMAND;
  }
  return v1::CHANNEL_KIND_UNSPECIFIED;
}

std::string NameOf(int channel, const data::ChannelSet& channels) {
  return channel >= 0 && channel < channels.size() ? channels[channel].name
                                                   : std::string();
}

void ReplyToProto(const StreamOpened& opened,
                  v1::StreamWindowsResponse& proto) {
  v1::StreamOpened& to = *proto.mutable_opened();
  to.set_resume_from(opened.resume_from);
  to.set_epoch(opened.epoch);
  to.set_model(opened.model->name);
  to.set_model_version(opened.model->version);
  if (opened.last_time_ns) to.set_last_time_ns(*opened.last_time_ns);
}

void ReplyToProto(const WindowScored& scored,
                  v1::StreamWindowsResponse& proto) {
  v1::WindowScored& to = *proto.mutable_scored();
  to.set_sequence(scored.sequence);
  to.set_threshold(scored.threshold);
  to.set_duplicate(scored.duplicate);
  to.set_model_version(scored.model->version);
  for (const model::InstantScore& instant : scored.score.instants) {
    ToProto(instant, scored.model->channels, *to.add_instants());
  }
  LimitDetail(*to.mutable_instants());
}

void ReplyToProto(const WindowRejected& rejected,
                  v1::StreamWindowsResponse& proto) {
  v1::WindowRejected& to = *proto.mutable_rejected();
  const absl::Status& reason = rejected.reason;
  to.set_sequence(rejected.sequence);
  to.set_code(static_cast<google::rpc::Code>(reason.code()));
  to.set_message(reason.message().data(), reason.message().size());
  to.set_expected_sequence(rejected.expected_sequence);
  *to.mutable_field_violations() =
      std::move(*FieldsOf(reason).mutable_field_violations());
  if (const auto delay = RetryDelay(reason)) {
    to.mutable_retry_delay()->set_seconds(delay->count() / 1000);
    to.mutable_retry_delay()->set_nanos(
        static_cast<int>(delay->count() % 1000) * 1'000'000);
  }
}

void ReplyToProto(const StreamDraining& draining,
                  v1::StreamWindowsResponse& proto) {
  proto.mutable_draining()->set_resume_from(draining.resume_from);
}

}  // namespace

absl::StatusOr<StreamKey> StreamKeyFrom(const std::string& tenant,
                                        const std::string& stream,
                                        v1::StreamMode mode) {
  if (!v1::StreamMode_IsValid(mode)) {
    return FieldError("mode", absl::StrFormat("mode %d is unknown; LIVE and "
                                              "PLAYBACK are taken",
                                              static_cast<int>(mode)));
  }
  StreamKey key{.tenant = tenant.empty() ? "default" : tenant,
                .stream = stream,
                .mode = mode == v1::STREAM_MODE_PLAYBACK ? StreamMode::kPlayback
                                                         : StreamMode::kLive};
  if (absl::Status status = CheckName("tenant", key.tenant, kMaxTenantBytes);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckName("stream", key.stream, kMaxStreamBytes);
      !status.ok()) {
    return status;
  }
  return key;
}

v1::StreamMode ToProto(StreamMode mode) {
  return mode == StreamMode::kPlayback ? v1::STREAM_MODE_PLAYBACK
                                       : v1::STREAM_MODE_LIVE;
}

void ToProto(const data::Channel& channel, v1::Channel& proto) {
  proto.set_name(channel.name);
  proto.set_unit(channel.unit);
  proto.set_kind(KindToProto(channel.kind));
  for (const data::Symbol& symbol : channel.vocabulary) {
    v1::Symbol& to = *proto.add_vocabulary();
    to.set_code(symbol.code);
    to.set_label(symbol.label);
  }
}

void ToProto(const model::ModelDescription& model, v1::Model& proto) {
  proto.set_name(model.name);
  proto.set_version(model.version);
  for (const data::Channel& channel : model.channels.channels()) {
    ToProto(channel, *proto.add_channels());
  }
  proto.set_cadence_ns(model.cadence_ns);
  proto.set_context_length(model.context_length);
  proto.mutable_horizons()->Add(model.horizons.begin(), model.horizons.end());
  proto.set_layer_count(model.layer_count);
  proto.set_head_count(model.head_count);
  proto.set_parameter_count(model.parameter_count);
  proto.set_precision(std::string(model::PrecisionName(model.precision)));
  proto.set_threshold(model.threshold);
  proto.set_false_alarms_per_10k(model.false_alarms_per_10k);
  proto.set_training_record(model.training_record);
  if (model.verdict_threshold) {
    proto.set_verdict_threshold(*model.verdict_threshold);
  }
}

void ToProto(const model::InstantScore& score, const data::ChannelSet& channels,
             v1::InstantScore& proto) {
  proto.set_time_ns(score.time_ns);
  proto.set_state(StateToProto(score.state));
  proto.set_score(score.score);
  proto.set_probability(score.probability);
  if (score.verdict) proto.set_verdict(*score.verdict);
  proto.set_anomaly(score.anomaly);
  // kNormal and the rest follow SEVERITY_UNSPECIFIED in the same order.
  proto.set_severity(
      static_cast<v1::Severity>(static_cast<int>(score.severity) + 1));
  proto.set_missing_count(score.missing);
  for (const model::Contribution& c : score.contributions) {
    v1::Contribution& to = *proto.add_contributions();
    to.set_channel(NameOf(c.channel, channels));
    to.set_share(c.share);
    to.set_observed(c.observed);
    to.set_expected(c.expected);
    if (c.channel >= 0 && c.channel < channels.size()) {
      to.set_unit(channels[c.channel].unit);
    }
  }
  for (const model::PointedInstant& p : score.points_back_to) {
    v1::PointedInstant& to = *proto.add_points_back_to();
    to.set_time_ns(p.time_ns);
    to.set_lag(p.lag);
    to.set_lag_seconds(p.lag_seconds);
    to.set_weight(p.weight);
    to.set_channel(NameOf(p.channel, channels));
    if (!std::isnan(p.masking_change)) to.set_masking_change(p.masking_change);
  }
  if (score.masking) {
    v1::MaskingCheck& to = *proto.mutable_masking_check();
    to.set_masked_count(score.masking->instants);
    to.set_pointed_change(score.masking->pointed);
    to.set_random_change(score.masking->random);
  }
}

model::InstantScore FromProto(const v1::InstantScore& proto,
                              const data::ChannelSet& channels) {
  model::InstantScore score;
  score.time_ns = proto.time_ns();
  score.state = StateFromProto(proto.state());
  score.score = proto.score();
  score.probability = proto.probability();
  if (proto.has_verdict()) score.verdict = proto.verdict();
  score.anomaly = proto.anomaly();
  score.severity = static_cast<model::Severity>(
      std::clamp(static_cast<int>(proto.severity()) - 1, 0,
                 static_cast<int>(model::Severity::kSevere)));
  score.missing = proto.missing_count();
  for (const v1::Contribution& c : proto.contributions()) {
    score.contributions.push_back(
        {.channel = channels.Find(c.channel()).value_or(-1),
         .share = c.share(),
         .observed = c.observed(),
         .expected = c.expected()});
  }
  for (const v1::PointedInstant& p : proto.points_back_to()) {
    score.points_back_to.push_back(
        {.time_ns = p.time_ns(),
         .lag = p.lag(),
         .lag_seconds = p.lag_seconds(),
         .weight = p.weight(),
         .channel = channels.Find(p.channel()).value_or(-1)});
    if (p.has_masking_change()) {
      score.points_back_to.back().masking_change = p.masking_change();
    }
  }
  if (proto.has_masking_check()) {
    const v1::MaskingCheck& check = proto.masking_check();
    score.masking = {.instants = check.masked_count(),
                     .pointed = check.pointed_change(),
                     .random = check.random_change()};
  }
  return score;
}

void ToProto(const StoredScore& score, v1::StoredScore& proto) {
  ToProto(score.instant, score.model->channels, *proto.mutable_instant());
  proto.set_epoch(score.epoch);
  proto.set_sequence(score.sequence);
  proto.set_threshold(score.threshold);
  proto.set_model(score.model->name);
  proto.set_model_version(score.model->version);
}

void ToProto(const StreamReply& reply, v1::StreamWindowsResponse& proto) {
  proto.set_stream(reply.stream);
  std::visit([&proto](const auto& content) { ReplyToProto(content, proto); },
             reply.content);
}

void LimitDetail(
    google::protobuf::RepeatedPtrField<v1::InstantScore>& instants) {
  size_t bytes = 0;
  for (const v1::InstantScore& instant : instants) {
    bytes += instant.ByteSizeLong();
  }
  if (bytes <= kMaxAnswerBytes) return;
  for (v1::InstantScore& instant : instants) {
    auto& contributions = *instant.mutable_contributions();
    if (contributions.size() > 1) {
      contributions.DeleteSubrange(1, contributions.size() - 1);
    }
    auto& points = *instant.mutable_points_back_to();
    if (points.size() > kFewestPoints) {
      points.DeleteSubrange(kFewestPoints, points.size() - kFewestPoints);
    }
  }
}

}  // namespace telltale::server
