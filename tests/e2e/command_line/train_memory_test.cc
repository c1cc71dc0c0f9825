// How much memory training takes beside the telemetry itself.

#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/npy_bytes.h"
#include "tests/e2e/command_line/command_line_fixture.h"

namespace telltale::testing {
namespace {

// As the file's header says.
constexpr int64_t kSteps = 1'000'000;
constexpr int64_t kChannels = 48;
constexpr int64_t kDataBytes = kSteps * kChannels * sizeof(float);

// What the program and its libraries take before there is any telemetry.
constexpr int64_t kProgramBytes = 24 << 20;

// Sawtooths of different periods with a little noise, as float32.
void WriteTelemetry(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << data::NpyBytes(data::NpyDictionary("<f4", "(1000000, 48)"), "");
  std::vector<float> row(kChannels);
  uint32_t noise = 1;
  for (int64_t t = 0; t < kSteps; ++t) {
    for (int64_t c = 0; c < kChannels; ++c) {
      noise = noise * 1664525 + 1013904223;
      const int64_t period = 20 + 3 * c;
      row[c] = static_cast<float>(t % period) / static_cast<float>(period) +
               1e-10F * static_cast<float>(noise >> 4);
    }
    file.write(reinterpret_cast<const char*>(row.data()),
               static_cast<std::streamsize>(row.size() * sizeof(float)));
  }
}

using TrainMemoryTest = CommandLineFixture;

TEST_F(TrainMemoryTest, IsAtMostTwiceTheTelemetry) {
  const std::string data = Path("long.npy");
  WriteTelemetry(data);

  const Outcome outcome =
      Run({"train", "--data", data, "--out", Path("m"), "--steps", "2"});

  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::cout << "telemetry " << (kDataBytes >> 20) << " MiB, peak "
            << (outcome.peak_bytes >> 20) << " MiB\n";
  EXPECT_GT(outcome.peak_bytes, kDataBytes);
  EXPECT_LE(outcome.peak_bytes, 2 * kDataBytes + kProgramBytes);
}

}  // namespace
}  // namespace telltale::testing
