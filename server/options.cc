#include "server/options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include <toml++/toml.h>

#include "server/printable.h"

namespace telltale::server {
namespace {

using Values = std::vector<std::string>;

absl::StatusOr<int> ParseInt(const std::string& text, int least, int most) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stopped == end && value >= least &&
      value <= most) {
    return value;
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("'%s' is not a whole number from %d to %d",
                      Printable(text), least, most));
}

Setting Number(std::string_view name, int Options::*field, int least, int most,
               std::string_view help) {
  return {.name = name,
          .kind = Setting::Kind::kNumber,
          .value_name = "N",
          .help = help,
          .set =
              [field, least, most](Options& options, const Values& values) {
                const absl::StatusOr<int> value =
                    ParseInt(values.back(), least, most);
                if (value.ok()) options.*field = *value;
                return value.status();
              },
          .show =
              [field](const Options& options) {
                return std::to_string(options.*field);
              }};
}

Setting Text(std::string_view name, std::string Options::*field,
             std::string_view value_name, std::string_view help) {
  return {.name = name,
          .kind = Setting::Kind::kText,
          .value_name = value_name,
          .help = help,
          .set =
              [field](Options& options, const Values& values) {
                options.*field = values.back();
                return absl::OkStatus();
              },
          .show = [field](const Options& options) { return options.*field; }};
}

Setting Switch(std::string_view name, bool Options::*field,
               std::string_view help) {
  return {.name = name,
          .kind = Setting::Kind::kSwitch,
          .value_name = "",
          .help = help,
          .set =
              [field](Options& options, const Values& values) {
                const std::string& value = values.back();
                if (value != "true" && value != "false") {
                  return absl::InvalidArgumentError(absl::StrFormat(
                      "'%s' is neither true nor false", Printable(value)));
                }
                options.*field = value == "true";
                return absl::OkStatus();
              },
          .show =
              [field](const Options& options) {
                return options.*field ? "true" : "false";
              }};
}

Setting ModelFiles() {
  return {.name = "model",
          .kind = Setting::Kind::kTexts,
          .value_name = "FILE",
          .help = "Checkpoint to score with; may be given several times",
          .set =
              [](Options& options, const Values& values) {
                options.model = values;
                return absl::OkStatus();
              },
          .show =
              [](const Options& options) {
                std::string text;
                for (const std::string& file : options.model) {
                  text += (text.empty() ? "" : ",") + file;
                }
                return text;
              }};
}

Setting PrecisionChoice() {
  return {.name = "precision",
          .kind = Setting::Kind::kText,
          .value_name = "NAME",
          .help =
              "In what the encoder multiplies: f32, exact; bf16, faster on "
              "processors that have it; auto, the fastest there is. Scores "
              "of either kind carry model versions of their own",
          .set =
              [](Options& options, const Values& values) {
                const auto chosen = model::ChoosePrecision(values.back());
                if (chosen.ok()) options.precision = *chosen;
                return chosen.status();
              },
          .show =
              [](const Options& options) {
                return std::string(model::PrecisionName(options.precision));
              }};
}

// A node's text as a flag would give it. Text in quotes fits every setting, as
// the environment's does; a number or a truth value only its own kind.
absl::StatusOr<std::string> ScalarText(const toml::node& node,
                                       Setting::Kind kind) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer();
      number != nullptr && kind == Setting::Kind::kNumber) {
    return std::to_string(number->get());
  }
  if (const auto* flag = node.as_boolean();
      flag != nullptr && kind == Setting::Kind::kSwitch) {
    return std::string(flag->get() ? "true" : "false");
  }
  switch (kind) {
    case Setting::Kind::kSwitch:
      return absl::InvalidArgumentError("expected true or false");
    case Setting::Kind::kNumber:
      return absl::InvalidArgumentError("expected a whole number");
    default:
      return absl::InvalidArgumentError("expected text in quotes");
  }
}

absl::StatusOr<Values> NodeValues(const toml::node& node,
                                  const Setting& setting) {
  Values values;
  const toml::array* list = node.as_array();
  if (list == nullptr) {
    absl::StatusOr<std::string> text = ScalarText(node, setting.kind);
    if (!text.ok()) return text.status();
    values.push_back(std::move(*text));
    return values;
  }
  if (setting.kind != Setting::Kind::kTexts) {
    return absl::InvalidArgumentError("the value is a list; give one value");
  }
  for (const toml::node& item : *list) {
    absl::StatusOr<std::string> text = ScalarText(item, setting.kind);
    if (!text.ok()) return text.status();
    values.push_back(std::move(*text));
  }
  if (values.empty()) return absl::InvalidArgumentError("the list is empty");
  return values;
}

absl::Status At(const std::string& path, const toml::source_region& source,
                std::string_view what) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s:%d:%d: %s", path, source.begin.line, source.begin.column, what));
}

absl::Status ApplyKey(const std::string& path, std::string_view key,
                      const toml::source_region& key_source,
                      const toml::node& node, Options& options) {
  const std::vector<Setting>& settings = Settings();
  const auto setting =
      std::find_if(settings.begin(), settings.end(),
                   [key](const Setting& s) { return s.name == key; });
  if (setting == settings.end()) {
    return At(path, key_source,
              absl::StrFormat("there is no setting '%s'; `telltale serve "
                              "--help` lists them all",
                              Printable(key)));
  }
  const absl::StatusOr<Values> values = NodeValues(node, *setting);
  absl::Status status =
      values.ok() ? setting->set(options, *values) : values.status();
  if (status.ok()) return status;
  return At(path, node.source(),
            absl::StrFormat("%s: %s", std::string(key), status.message()));
}

}  // namespace

std::string Setting::Flag() const {
  std::string flag = absl::StrFormat("--%s", std::string(name));
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string Setting::Environment() const {
  return absl::StrFormat("TELLTALE_%s",
                         absl::AsciiStrToUpper(std::string(name)));
}

const std::vector<Setting>& Settings() {
  static const auto& settings = *new std::vector<Setting>{
      ModelFiles(),
      Text("listen", &Options::listen, "HOST:PORT",
           "Address to listen on; port 0 takes any free one"),
      Text("address_file", &Options::address_file, "FILE",
           "Write the address here once clients can connect"),
      Text("store", &Options::store, "FILE",
           "SQLite file that keeps windows and scores"),
      Switch("insecure_bind", &Options::insecure_bind,
             "Allow an address that other machines can reach. Everybody who "
             "reaches it can then read and write: connections are neither "
             "encrypted nor checked"),
      Switch("reflection", &Options::reflection,
             "Describe the services to tools such as grpcurl"),
      PrecisionChoice(),
      Number("threads", &Options::threads, 0, 256,
             "Threads that score; 0: one for each processor"),
      Number("max_batch_size", &Options::max_batch_size, 1, 1024,
             "Windows scored together at most"),
      Number("max_batch_delay_us", &Options::max_batch_delay_us, 0, 1'000'000,
             "How long a window may wait for others, in microseconds, when "
             "several wait"),
      Number("max_queued_windows", &Options::max_queued_windows, 1, 1'000'000,
             "Windows that may wait to be scored; more are refused with a "
             "retry delay"),
      Number("max_streams", &Options::max_streams, 1, 1'000'000,
             "Streams that may be open at a time"),
      Number("max_window_length", &Options::max_window_length, 1, 65'536,
             "Instants that a window may have"),
      Number("max_attention_mib", &Options::max_attention_mib, 1, 65'536,
             "Memory for attention rows that are being computed or not read "
             "yet, in MiB; windows that want rows beyond it are refused with a "
             "retry delay"),
      Number("attention_seconds", &Options::attention_seconds, 1, 3600,
             "How long a client may take to read the attention rows of a "
             "window before its call is cut off"),
      Number("drain_seconds", &Options::drain_seconds, 1, 3600,
             "How long to finish accepted windows after SIGTERM"),
      Text("log_level", &Options::log_level, "LEVEL",
           "Least severity to log: debug, info, warning or error"),
  };
  return settings;
}

absl::Status ApplySettingsFile(const std::string& path, Options& options) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return absl::NotFoundError(
        absl::StrFormat("%s: no such settings file", path));
  }
  try {
    const toml::table table = toml::parse_file(path);
    for (const auto& [key, node] : table) {
      if (absl::Status status =
              ApplyKey(path, key.str(), key.source(), node, options);
          !status.ok()) {
        return status;
      }
    }
  } catch (const toml::parse_error& failure) {
    return At(path, failure.source(), failure.description());
  }
  return absl::OkStatus();
}

absl::Status ApplyEnvironment(
    const std::function<const char*(const char*)>& lookup, Options& options) {
  for (const Setting& setting : Settings()) {
    const std::string name = setting.Environment();
    const char* value = lookup(name.c_str());
    if (value == nullptr) continue;
    const Values values = setting.kind == Setting::Kind::kTexts
                              ? absl::StrSplit(value, ',')
                              : Values{value};
    if (absl::Status status = setting.set(options, values); !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s: %s", name, status.message()));
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> UnknownVariables(const char* const* environment) {
  constexpr std::string_view kPrefix = "TELLTALE_";
  std::vector<std::string> unknown;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with(kPrefix) || name == "TELLTALE_CONFIG") continue;
    const bool known = std::any_of(
        Settings().begin(), Settings().end(),
        [name](const Setting& s) { return s.Environment() == name; });
    if (!known) unknown.push_back(Printable(name));
  }
  return unknown;
}

absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text) {
  constexpr int kMaxPort = 65'535;
  const absl::Status malformed = absl::InvalidArgumentError(absl::StrFormat(
      "'%s' is not an address; write host:port, for instance 127.0.0.1:50051",
      Printable(text)));
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return malformed;
  ListenAddress address;
  address.host = text.substr(0, colon);
  const bool bracketed =
      address.host.front() == '[' && address.host.back() == ']';
  if (!bracketed && address.host.find(':') != std::string::npos) {
    return malformed;
  }
  const absl::StatusOr<int> port =
      ParseInt(text.substr(colon + 1), 0, kMaxPort);
  if (!port.ok()) return malformed;
  address.port = *port;
  return address;
}

bool IsLoopback(const std::string& host) {
  if (host == "localhost" || host == "[::1]") return true;
  // All of 127.0.0.0/8, but not a name that merely begins like it.
  return host.rfind("127.", 0) == 0 &&
         host.find_first_not_of("0123456789.") == std::string::npos;
}

absl::Status CheckOptions(const Options& options) {
  if (options.model.empty()) {
    return absl::InvalidArgumentError(
        "no model is given; add --model FILE, a file that `telltale train` "
        "wrote");
  }
  if (std::count(options.model.begin(), options.model.end(), "") > 0) {
    return absl::InvalidArgumentError(
        "--model: the name is empty; give a file that `telltale train` wrote");
  }
  if (options.store.empty()) {
    return absl::InvalidArgumentError(
        "--store: the name is empty; give the file that is to keep windows and "
        "scores");
  }
  const absl::StatusOr<ListenAddress> address =
      ParseListenAddress(options.listen);
  if (!address.ok()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--listen: %s", address.status().message()));
  }
  if (!IsLoopback(address->host) && !options.insecure_bind) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--listen: other machines can reach '%s', and connections are not "
        "checked; listen on 127.0.0.1, or add --insecure-bind where the "
        "network itself is closed",
        Printable(address->host)));
  }
  const std::vector<std::string> levels = {"debug", "info", "warning", "error"};
  if (std::find(levels.begin(), levels.end(), options.log_level) ==
      levels.end()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--log-level: '%s' is none of debug, info, warning, error",
        Printable(options.log_level)));
  }
  return absl::OkStatus();
}

}  // namespace telltale::server
