// telltale serve: loads models, opens the store and serves until told to stop.

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <pthread.h>
#include <signal.h>
#include <string>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include <CLI/CLI.hpp>

#include "server/cli/commands.h"
#include "server/cli/failure.h"
#include "server/models.h"
#include "server/observability/log.h"
#include "server/options.h"
#include "server/scheduling/clock.h"
#include "server/server.h"

namespace telltale::server {
namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;
// Beyond the time to drain: an end that hangs is ended.
constexpr int kGraceSeconds = 2;
constexpr int64_t kNanoseconds = 1'000'000'000;

struct ServeFlags {
  std::string config;
  // What stood on the command line, by setting.
  std::map<const Setting*, std::vector<std::string>> values;
};

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// The file, then the environment over it, then the flags over both.
absl::StatusOr<Options> GatherOptions(const ServeFlags& flags) {
  const auto lookup = [](const char* name) -> const char* {
    return std::getenv(name);  // NOLINT(concurrency-mt-unsafe): single thread
  };
  Options options;
  std::string config = flags.config;
  if (const char* file = lookup("TELLTALE_CONFIG");
      config.empty() && file != nullptr) {
    config = file;
  }
  if (!config.empty()) {
    if (absl::Status status = ApplySettingsFile(config, options);
        !status.ok()) {
      return status;
    }
  }
  if (absl::Status status = ApplyEnvironment(lookup, options); !status.ok()) {
    return status;
  }
  for (const auto& [setting, values] : flags.values) {
    if (absl::Status status = setting->set(options, values); !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s: %s", setting->Flag(), status.message()));
    }
  }
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  return options;
}

Log::Level LevelFrom(const std::string& name) {
  if (name == "debug") return Log::Level::kDebug;
  if (name == "warning") return Log::Level::kWarning;
  if (name == "error") return Log::Level::kError;
  return Log::Level::kInfo;
}

// Whole or not at all: who waits for the file must not read half of it.
absl::Status WriteAddressFile(const std::string& path,
                              const std::string& address) {
  const std::string temporary = path + ".new";
  std::ofstream file(temporary);
  file << address << '\n';
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(temporary, path, error);
  if (file && !error) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrFormat(
      "--address-file: %s cannot be written; give a path that can", path));
}

// Ends the process when draining takes too long, or at a second signal.
void WatchDrain(std::chrono::seconds seconds) {
  std::thread([seconds] {
    const sigset_t signals = StopSignals();
    const auto end = std::chrono::steady_clock::now() + seconds;
    std::chrono::nanoseconds left = seconds;
    // EINTR is no signal of ours: a process that was stopped and continued, or
    // looked at by a debugger, goes on draining.
    while (left.count() > 0) {
      const timespec patience{.tv_sec = left.count() / kNanoseconds,
                              .tv_nsec = left.count() % kNanoseconds};
      if (sigtimedwait(&signals, nullptr, &patience) > 0 || errno != EINTR) {
        break;
      }
      left = end - std::chrono::steady_clock::now();
    }
    std::_Exit(kFailure);
  }).detach();
}

absl::Status Serve(const Options& options) {
  // Before any thread starts, so that all of them leave these signals to this
  // one, also as process 1 of a container.
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  Log log(LevelFrom(options.log_level));
  // A slip in a name would otherwise go unnoticed. Not an error: others may
  // name theirs alike.
  for (const std::string& name : UnknownVariables(environ)) {
    log.Warning("no setting has this environment variable's name",
                {{"variable", name}});
  }
  SystemClock clock;
  absl::StatusOr<Models> models = Models::Load(
      {options.model.begin(), options.model.end()}, options.precision);
  if (!models.ok()) return models.status();
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(options, std::move(*models), log, clock);
  if (!server.ok()) return server.status();
  if (!options.address_file.empty()) {
    if (absl::Status status =
            WriteAddressFile(options.address_file, (*server)->address());
        !status.ok()) {
      return status;
    }
  }
  int signal_number = 0;
  sigwait(&signals, &signal_number);
  WatchDrain(std::chrono::seconds(options.drain_seconds + kGraceSeconds));
  (*server)->Drain();
  return absl::OkStatus();
}

void RunServe(const ServeFlags& flags, CommandResult& result) {
  const absl::StatusOr<Options> options = GatherOptions(flags);
  if (!options.ok()) {
    PrintFailure(options.status());
    result.exit_code = kUsage;
    return;
  }
  if (const absl::Status status = Serve(*options); !status.ok()) {
    PrintFailure(status);
    result.exit_code = kFailure;
  }
}

}  // namespace

void AddServeCommand(CLI::App& app, CommandResult& result) {
  CLI::App* command = app.add_subcommand(
      "serve", "Score what clients stream, keep it, and answer queries");
  auto flags = std::make_shared<ServeFlags>();  // shared by the callbacks
  command
      ->add_option("--config", flags->config,
                   "Settings file (TOML): the keys are the flags' names "
                   "with underscores (env: TELLTALE_CONFIG)")
      ->option_text("FILE");
  const Options defaults;
  for (const Setting& setting : Settings()) {
    const std::string shown = setting.show(defaults);
    const std::string help =
        absl::StrFormat("%s%s (env: %s)", std::string(setting.help),
                        shown.empty() || setting.kind == Setting::Kind::kSwitch
                            ? ""
                            : absl::StrFormat(" [%s]", shown),
                        setting.Environment());
    if (setting.kind == Setting::Kind::kSwitch) {
      command->add_flag_callback(
          setting.Flag(),
          [flags, &setting] { flags->values[&setting] = {"true"}; }, help);
      continue;
    }
    command
        ->add_option_function<std::vector<std::string>>(
            setting.Flag(),
            [flags, &setting](const std::vector<std::string>& values) {
              flags->values[&setting] = values;
            },
            help)
        ->option_text(std::string(setting.value_name))
        ->take_all()
        ->allow_extra_args(false);
  }
  command->footer(
      "A flag wins over the environment, and the environment over the file.\n"
      "SIGTERM or SIGINT: accepted windows are answered and stored, clients "
      "are told, exit 0. A second one ends at once.");
  command->callback([flags, &result] { RunServe(*flags, result); });
}

}  // namespace telltale::server
