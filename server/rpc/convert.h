#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "data/channel.h"
#include "model/detector.h"
#include "proto/telltale/v1/anomaly_detection_service.pb.h"
#include "proto/telltale/v1/model_service.pb.h"
#include "proto/telltale/v1/score.pb.h"
#include "proto/telltale/v1/score_history_service.pb.h"
#include "proto/telltale/v1/telemetry.pb.h"
#include "server/storage/score_store.h"
#include "server/streaming/stream_reply.h"

namespace telltale::server {

// Between the contract's messages and the values that the server works with.

// Which stream, with "default" for an empty tenant. kInvalidArgument, naming
// the field: a tenant or name that is empty, too long or holds control
// characters, a mode that is unknown.
absl::StatusOr<StreamKey> StreamKeyFrom(const std::string& tenant,
                                        const std::string& stream,
                                        ::telltale::v1::StreamMode mode);
::telltale::v1::StreamMode ToProto(StreamMode mode);

void ToProto(const data::Channel& channel, ::telltale::v1::Channel& proto);
void ToProto(const model::ModelDescription& model,
             ::telltale::v1::Model& proto);

// `channels` are those of the model that scored.
void ToProto(const model::InstantScore& score, const data::ChannelSet& channels,
             ::telltale::v1::InstantScore& proto);
// The inverse, for clients. Channels that `channels` does not hold become -1.
model::InstantScore FromProto(const ::telltale::v1::InstantScore& proto,
                              const data::ChannelSet& channels);

void ToProto(const StoredScore& score, ::telltale::v1::StoredScore& proto);

// Everything but attention rows.
void ToProto(const StreamReply& reply,
             ::telltale::v1::StreamWindowsResponse& proto);

// Takes details away until an answer with `instants` is well below what every
// client accepts by default: first contributions beyond the largest, then
// instants pointed back to beyond the five strongest.
void LimitDetail(
    google::protobuf::RepeatedPtrField<::telltale::v1::InstantScore>& instants);

}  // namespace telltale::server
