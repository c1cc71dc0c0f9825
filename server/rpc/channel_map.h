#pragma once

#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "data/channel.h"
#include "proto/telltale/v1/telemetry.pb.h"
#include "server/streaming/stream_session.h"

namespace telltale::server {

// From the channels that a client declared to those of the model: the client
// may send them in any order, but all of them, in the model's units.
class ChannelMap {
 public:
  using Channels = google::protobuf::RepeatedPtrField<::telltale::v1::Channel>;

  // kInvalidArgument, naming the field: another number of channels, a channel
  // that the model has not, one twice, another unit or kind, a name or unit
  // that is too long.
  static absl::StatusOr<ChannelMap> Create(const Channels& declared,
                                           const data::ChannelSet& model);

  // The window with its columns in the model's order. Samples that are not
  // valid become NaN, and all NaNs the same one. kInvalidArgument, naming the
  // field: shapes that do not multiply out, none or more than `max_length`
  // instants, time that does not rise, samples beyond what telemetry can be, a
  // validity that is unknown.
  absl::StatusOr<SentWindow> Map(const ::telltale::v1::Window& window,
                                 int max_length) const;

 private:
  explicit ChannelMap(std::vector<int> columns)
      : columns_(std::move(columns)) {}

  std::vector<int> columns_;  // [model's channel] -> client's column
};

}  // namespace telltale::server
