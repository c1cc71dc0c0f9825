#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/command_line/process.h"

namespace telltale::testing {

// A folder of its own for what a test's commands read and write.
class CommandLineFixture : public ::testing::Test {
 public:
  CommandLineFixture() {
    std::string pattern = ::testing::TempDir() + "/telltale-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~CommandLineFixture() override { std::filesystem::remove_all(folder_); }

 protected:
  std::string Path(const std::string& name) const {
    return folder_ + "/" + name;
  }

  std::string WriteFile(const std::string& name, const std::string& text) {
    std::ofstream(Path(name), std::ios::binary) << text;
    return Path(name);
  }

  Outcome Run(const std::vector<std::string>& arguments) {
    return RunTelltale(folder_, arguments);
  }

  // Runs what must succeed; returns its standard output.
  std::string Succeed(const std::vector<std::string>& arguments) {
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  }

  // `steps` instants of the simulated engine.
  std::string Simulate(const std::string& name, int seed, int steps,
                       bool faults = false) {
    std::vector<std::string> arguments = {"simulate",
                                          "--seed",
                                          std::to_string(seed),
                                          "--steps",
                                          std::to_string(steps),
                                          "--out",
                                          Path(name)};
    if (faults) arguments.emplace_back("--faults");
    Succeed(arguments);
    return Path(name);
  }

  // Settings of an encoder that trains in a second, and alarms readily.
  std::string SmallConfig() {
    return WriteFile("train.toml", R"(
[training]
steps = 40
batch = 2
window = 128
false_alarms = "300/10000"

[encoder]
width = 16
heads = 2
query_width = 8
feed_forward = 16
stem_hidden = 16
horizons = [1, 4]

[[encoder.layers]]
reach = 8
[[encoder.layers]]
key_source = "stem"
reach = 48
)");
  }

  // A small model of the simulated engine.
  std::string TrainSmall() {
    std::string model = Path("small.safetensors");
    Succeed({"train", "--data", Simulate("nominal.csv", 1, 1'200), "--config",
             SmallConfig(), "--out", model});
    return model;
  }

  // A service with this model, and its address.
  struct Service {
    std::unique_ptr<Process> process;
    std::string address;
  };
  Service Serve(const std::string& model,
                const std::vector<std::string>& flags = {}) {
    const std::string folder = Path("service");
    std::filesystem::create_directory(folder);
    const std::string address_file = folder + "/address";
    Service service;
    std::vector<std::string> words = {
        "serve",      "--model",     model,
        "--listen",   "127.0.0.1:0", "--address-file",
        address_file, "--store",     folder + "/scores.db"};
    words.insert(words.end(), flags.begin(), flags.end());
    service.process = std::make_unique<Process>(folder, words);
    EXPECT_TRUE(AwaitFile(address_file));
    service.address = FileBytes(address_file);
    while (service.address.ends_with('\n')) service.address.pop_back();
    return service;
  }

  // What the service says of a file that is streamed to it, as a table.
  std::string Stream(const Service& service, const std::string& data,
                     const std::string& window) {
    const std::string out = Path("streamed-" + window);
    Succeed({"stream", "--server", service.address, "--stream", "w" + window,
             "--data", data, "--window", window, "--out", out});
    return FileBytes(out);
  }

  std::string folder_;
};

}  // namespace telltale::testing
