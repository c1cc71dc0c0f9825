#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace telltale::data {

// How a channel's samples are to be read.
enum class ChannelKind {
  kContinuous,  // a measured quantity in `unit`; scaled and forecast
  kDiscrete,    // one code of a vocabulary (a mode, a status); never scaled
  kCommand,     // a telecommand or its argument; context, never scored
};

// "continuous", "discrete" or "command".
std::string_view ChannelKindName(ChannelKind kind);
absl::StatusOr<ChannelKind> ParseChannelKind(std::string_view name);

// One value that a discrete channel may take.
struct Symbol {
  float code = 0;     // what the samples hold
  std::string label;  // what people call it; the code in digits when unnamed

  friend bool operator==(const Symbol&, const Symbol&) = default;
};

// One measured quantity of a vehicle.
struct Channel {
  std::string name;  // unique in its set; 1 to 256 bytes
  std::string unit;  // as declared, for instance "kPa"; empty: none declared
  ChannelKind kind = ChannelKind::kContinuous;
  std::vector<Symbol> vocabulary;  // kDiscrete only; rising codes

  friend bool operator==(const Channel&, const Channel&) = default;
};

// The channels of one vehicle or model, in the order of a sample row.
// Immutable after creation.
class ChannelSet {
 public:
  static constexpr int kMaxChannels = 4096;

  ChannelSet() = default;

  // kInvalidArgument: no channel or more than kMaxChannels, an empty or
  // overlong name, a name twice, a vocabulary that does not rise or stands at
  // a channel that is not discrete.
  static absl::StatusOr<ChannelSet> Create(std::vector<Channel> channels);

  int size() const { return static_cast<int>(channels_.size()); }
  const Channel& operator[](int index) const { return channels_[index]; }
  const std::vector<Channel>& channels() const { return channels_; }

  // The index of the channel called `name`.
  std::optional<int> Find(std::string_view name) const;

  friend bool operator==(const ChannelSet&, const ChannelSet&) = default;

 private:
  explicit ChannelSet(std::vector<Channel> channels);

  std::vector<Channel> channels_;
};

}  // namespace telltale::data
