#include "data/channel.h"

#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"

namespace telltale::data {
namespace {

constexpr size_t kMaxNameBytes = 256;

absl::Status CheckName(const std::string& name, int index) {
  if (name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("channel %d has an empty name; give every channel a "
                        "name of 1 to %d bytes",
                        index, kMaxNameBytes));
  }
  if (name.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "channel %d has a name of %d bytes, \"%s...\"; at most %d are allowed",
        index, name.size(), absl::CHexEscape(name.substr(0, 32)),
        kMaxNameBytes));
  }
  return absl::OkStatus();
}

absl::Status CheckVocabulary(const Channel& channel) {
  if (channel.kind != ChannelKind::kDiscrete && !channel.vocabulary.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "channel \"%s\" is %s but has a vocabulary of %d; only discrete "
        "channels have one",
        absl::CHexEscape(channel.name), ChannelKindName(channel.kind),
        channel.vocabulary.size()));
  }
  for (size_t i = 1; i < channel.vocabulary.size(); ++i) {
    // Negated so that a NaN is refused too.
    if (!(channel.vocabulary[i - 1].code < channel.vocabulary[i].code)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "the vocabulary of channel \"%s\" does not rise at entry %d: code "
          "%g after %g",
          absl::CHexEscape(channel.name), i, channel.vocabulary[i].code,
          channel.vocabulary[i - 1].code));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view ChannelKindName(ChannelKind kind) {
  switch (kind) {
    case ChannelKind::kContinuous:
      return "continuous";
    case ChannelKind::kDiscrete:
      return "discrete";
    case ChannelKind::kCommand:
      return "command";
  }
  return "unknown";
}

absl::StatusOr<ChannelKind> ParseChannelKind(std::string_view name) {
  for (const ChannelKind kind :
       {ChannelKind::kContinuous, ChannelKind::kDiscrete,
        ChannelKind::kCommand}) {
    if (name == ChannelKindName(kind)) return kind;
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "\"%s\" is no kind of channel; expected continuous, discrete or command",
      absl::CHexEscape(std::string(name.substr(0, 40)))));
}

ChannelSet::ChannelSet(std::vector<Channel> channels)
    : channels_(std::move(channels)) {}

absl::StatusOr<ChannelSet> ChannelSet::Create(std::vector<Channel> channels) {
  if (channels.empty()) {
    return absl::InvalidArgumentError("a channel set needs at least 1 channel");
  }
  if (channels.size() > kMaxChannels) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%d channels; a channel set holds at most %d",
                        channels.size(), kMaxChannels));
  }
  std::unordered_set<std::string_view> seen;
  for (size_t i = 0; i < channels.size(); ++i) {
    const absl::Status named = CheckName(channels[i].name, static_cast<int>(i));
    if (!named.ok()) return named;
    if (!seen.insert(channels[i].name).second) {
      return absl::InvalidArgumentError(
          absl::StrFormat("channel name \"%s\" stands twice; names must differ",
                          absl::CHexEscape(channels[i].name)));
    }
    const absl::Status vocabulary = CheckVocabulary(channels[i]);
    if (!vocabulary.ok()) return vocabulary;
  }
  return ChannelSet(std::move(channels));
}

std::optional<int> ChannelSet::Find(std::string_view name) const {
  for (int i = 0; i < size(); ++i) {
    if (channels_[i].name == name) return i;
  }
  return std::nullopt;
}

}  // namespace telltale::data
