#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "model/detector.h"

namespace telltale::server {

// Every setting of the server. A setting called `max_streams` is the flag
// --max-streams, the environment variable TELLTALE_MAX_STREAMS and the key
// max_streams of the settings file; the flag wins over the environment, and
// that over the file.
struct Options {
  std::vector<std::string> model;  // checkpoint files
  std::string listen = "127.0.0.1:50051";
  std::string address_file;  // empty: none
  std::string store = "scores.db";
  bool insecure_bind = false;
  bool reflection = false;
  model::Precision precision = model::Precision::kFloat32;
  int threads = 0;  // 0: one for each processor
  int max_batch_size = 32;
  int max_batch_delay_us = 500;
  int max_queued_windows = 1024;
  int max_streams = 4096;
  int max_window_length = 1024;
  int max_attention_mib = 256;
  int attention_seconds = 60;
  int drain_seconds = 8;
  std::string log_level = "info";
};

// One setting: its names, its help, and how to set and show it.
struct Setting {
  enum class Kind { kSwitch, kNumber, kText, kTexts };

  std::string_view name;  // as in the file
  Kind kind = Kind::kText;
  std::string_view value_name;  // for the help
  std::string_view help;
  // kInvalidArgument: not such a value; the message says what was expected.
  std::function<absl::Status(Options&, const std::vector<std::string>&)> set;
  std::function<std::string(const Options&)> show;

  std::string Flag() const;         // "--max-streams"
  std::string Environment() const;  // "TELLTALE_MAX_STREAMS"
};

const std::vector<Setting>& Settings();

// Sets what a TOML file says. kNotFound: no such file. kInvalidArgument, with
// file, line and column: not TOML, an unknown key, a value that does not fit.
absl::Status ApplySettingsFile(const std::string& path, Options& options);

// Sets what the environment says; `lookup` returns null for what is not set.
absl::Status ApplyEnvironment(
    const std::function<const char*(const char*)>& lookup, Options& options);

// The variables called TELLTALE_ that no setting has, of "NAME=value" entries
// that end with a null. Fit for messages.
std::vector<std::string> UnknownVariables(const char* const* environment);

// Where to listen.
struct ListenAddress {
  std::string host;
  int port = 0;  // 0: any free one
};

// "127.0.0.1:50051", "localhost:0", "[::1]:50051".
absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text);
bool IsLoopback(const std::string& host);

// kInvalidArgument: settings that do not fit together, such as an address that
// others can reach while nobody has said that this is intended.
absl::Status CheckOptions(const Options& options);

}  // namespace telltale::server
