#pragma once

#include <string>
#include <utility>

#include "data/channel.h"

namespace telltale::testing {

// A channel without a vocabulary.
inline data::Channel MakeChannel(
    std::string name, std::string unit = "",
    data::ChannelKind kind = data::ChannelKind::kContinuous) {
  data::Channel channel;
  channel.name = std::move(name);
  channel.unit = std::move(unit);
  channel.kind = kind;
  return channel;
}

}  // namespace telltale::testing
