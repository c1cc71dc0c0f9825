#pragma once

#include "data/channel.h"

namespace telltale::data {

// The sensors of the simulated engine, in the order of a sample row.
enum EngineChannel {
  kPumpInletPressure,
  kPumpSpeed,
  kChamberPressure,
  kChamberTemperature,
  kCoolantFlow,
  kValveCommand,
  kValvePosition,
  kMixtureRatio,
  kVibration,
  kBusVoltage,
  kThrust,
  kTankLevel,
  kEngineChannelCount,
};

// Their names and units.
const ChannelSet& EngineChannels();

// About how far the channel strays in nominal operation (one standard
// deviation, in its unit); the yardstick for the size of a fault.
double TypicalDeviation(EngineChannel channel);

// What the channel's converter makes of `value`: the nearest step it can tell.
float Digitise(EngineChannel channel, double value);

}  // namespace telltale::data
