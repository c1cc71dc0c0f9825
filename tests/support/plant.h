#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/channel.h"
#include "data/series.h"
#include "model/training/train.h"

namespace telltale::model {

// A channel; `kind` discrete gets the codes 0, 1 and 2.
data::Channel MakeChannel(
    const std::string& name, const std::string& unit,
    data::ChannelKind kind = data::ChannelKind::kContinuous);

// A small plant that a small encoder learns in a second or two. In order:
//   inlet    continuous  wanders, and dips now and then
//   outlet   continuous  follows the inlet kPlantLag instants later
//   tank     continuous  a slow oscillation
//   still    continuous  constant but for its converter's last digit
//   valve    command     opens now and then; the tank feels it at once
//   mode     discrete    0, 1 or 2
inline constexpr int kPlantLag = 12;
enum PlantChannel { kInlet, kOutlet, kTank, kStill, kValve, kMode };
inline constexpr int kPlantChannels = 6;
inline constexpr int64_t kPlantCadenceNs = 1'000'000'000;

// `length` instants, one a second from 2020 on; the same for the same seed.
data::Series PlantSeries(uint64_t seed, int length);

// Options under which training on it takes about a second.
TrainingOptions PlantTraining();

// Sets one channel of instants [begin, end) to `value`.
void Overwrite(data::Series& series, int channel, int begin, int end,
               float value);

// The series without the instants for which `keep` is false.
data::Series Select(const data::Series& series, const std::vector<bool>& keep);

}  // namespace telltale::model
