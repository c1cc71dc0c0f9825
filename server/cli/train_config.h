#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "data/channel.h"
#include "data/series.h"
#include "model/training/train.h"
#include "server/cli/false_alarm_budget.h"

namespace telltale::server {

// What a file of settings says of one channel.
struct ChannelDeclaration {
  std::string name;
  std::string place;  // "train.toml:12:1", for messages
  std::optional<data::ChannelKind> kind;
  std::optional<std::string> unit;
  std::vector<data::Symbol> vocabulary;
};

// The settings of `telltale train`.
struct TrainConfig {
  model::TrainingOptions options;
  FalseAlarmBudget false_alarms;
  std::vector<ChannelDeclaration> channels;
};

// Reads settings from TOML over the defaults. All of it is optional:
//
//   [training]
//   seed = 1             threads = 0          steps = 0       batch = 8
//   window = 0           learning_rate = 4e-3 warm_up_steps = 50
//   weight_decay = 0.3   clip_norm = 1.0      held_out = 0.25
//   false_alarms = "5/10000"                  # or "2/day"
//
//   [encoder]            # the names of model/encoder_config.h
//   width = 32           horizons = [1, 8]
//   [[encoder.layers]]
//   key_source = "stem"  reach = 256
//
//   [evidence]           # the parts of model/scoring/calibration.h: what a
//   novelty = true       # model is worth without one of them
//
//   [channels."valve command"]
//   kind = "discrete"    unit = ""            # or "continuous", "command"
//   vocabulary = [0, 1, 2]                    # or { shut = 0, open = 1 }
//
// kNotFound: no such file. kInvalidArgument, naming file, line and column: not
// TOML, an unknown key, a value of the wrong type or out of range.
absl::StatusOr<TrainConfig> ReadTrainConfig(const std::string& path);

// The same of text; `path` stands for it in messages.
absl::StatusOr<TrainConfig> ParseTrainConfig(std::string_view text,
                                             const std::string& path);

// Gives the channels of all segments the declared kinds, units and
// vocabularies. A discrete channel without a vocabulary gets the values that
// occur. kInvalidArgument, naming the place: a channel that is not there, a
// vocabulary for a channel that is not discrete, a unit other than the file's,
// more than kMaxSymbols values.
inline constexpr int kMaxSymbols = 256;
absl::Status DeclareChannels(
    const std::vector<ChannelDeclaration>& declarations,
    std::vector<data::Series>& segments);

}  // namespace telltale::server
