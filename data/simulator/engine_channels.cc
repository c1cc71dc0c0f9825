#include "data/simulator/engine_channels.h"

#include <array>
#include <cassert>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace telltale::data {
namespace {

struct Sensor {
  const char* name;
  const char* unit;
  double typical_deviation;
  double steps_per_unit;
};

constexpr std::array<Sensor, kEngineChannelCount> kSensors = {{
    {"pump_inlet_pressure", "kPa", 7, 100},
    {"pump_speed", "rpm", 2200, 10},
    {"chamber_pressure", "kPa", 1150, 10},
    {"chamber_temperature", "K", 10, 100},
    {"coolant_flow", "kg/s", 0.7, 1000},
    {"valve_command", "%", 3, 10},
    {"valve_position", "%", 3, 100},
    {"mixture_ratio", "", 0.04, 10000},
    {"vibration", "g", 0.5, 1000},
    {"bus_voltage", "V", 0.2, 1000},
    {"thrust", "kN", 14, 100},
    {"tank_level", "%", 18, 100},
}};

}  // namespace

const ChannelSet& EngineChannels() {
  // Never destroyed, so that it outlives whoever reads it at exit.
  static const ChannelSet& channels = *[] {
    std::vector<Channel> list;
    for (const Sensor& sensor : kSensors) {
      Channel channel;
      channel.name = sensor.name;
      channel.unit = sensor.unit;
      list.push_back(std::move(channel));
    }
    absl::StatusOr<ChannelSet> set = ChannelSet::Create(std::move(list));
    assert(set.ok());
    return new ChannelSet(*std::move(set));
  }();
  return channels;
}

double TypicalDeviation(EngineChannel channel) {
  return kSensors[channel].typical_deviation;
}

float Digitise(EngineChannel channel, double value) {
  const double steps = kSensors[channel].steps_per_unit;
  return static_cast<float>(std::floor(value * steps + 0.5) / steps);
}

}  // namespace telltale::data
