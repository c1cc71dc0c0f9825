#include "server/observability/log.h"

#include <cmath>
#include <cstddef>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace telltale::server {
namespace {

constexpr size_t kMaxTextBytes = 256;

spdlog::level::level_enum SpdlogLevel(Log::Level level) {
  switch (level) {
    case Log::Level::kDebug:
      return spdlog::level::debug;
    case Log::Level::kInfo:
      return spdlog::level::info;
    case Log::Level::kWarning:
      return spdlog::level::warn;
    case Log::Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

const char* LevelName(Log::Level level) {
  switch (level) {
    case Log::Level::kDebug:
      return "debug";
    case Log::Level::kInfo:
      return "info";
    case Log::Level::kWarning:
      return "warning";
    case Log::Level::kError:
      return "error";
  }
  return "error";
}

struct ToJson {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const {
    return absl::StrFormat("%d", value);
  }
  std::string operator()(double value) const {
    return std::isfinite(value) ? absl::StrFormat("%.9g", value) : "null";
  }
  std::string operator()(const std::string& value) const {
    return JsonString(value);
  }
};

}  // namespace

std::string JsonString(std::string_view text) {
  std::string json = "\"";
  for (const char c : text.substr(0, kMaxTextBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (byte >= 0x20 && byte < 0x7F) {
      json += c;
    } else {
      // Bytes, not code points: a log is for reading, not for round trips.
      json += absl::StrFormat("\\u%04x", byte);
    }
  }
  json += '"';
  return json;
}

Log::Log(Level least)
    : logger_(std::make_unique<spdlog::logger>(
          "telltale", std::make_shared<spdlog::sinks::stderr_sink_mt>())) {
  logger_->set_pattern("%v");
  logger_->set_level(SpdlogLevel(least));
  logger_->flush_on(spdlog::level::debug);
}

Log::~Log() = default;

void Log::Info(std::string_view event, std::initializer_list<LogField> fields) {
  Write(Level::kInfo, event, fields);
}

void Log::Warning(std::string_view event,
                  std::initializer_list<LogField> fields) {
  Write(Level::kWarning, event, fields);
}

void Log::Error(std::string_view event,
                std::initializer_list<LogField> fields) {
  Write(Level::kError, event, fields);
}

void Log::Write(Level level, std::string_view event,
                std::initializer_list<LogField> fields) {
  if (!logger_->should_log(SpdlogLevel(level))) return;
  std::string line =
      absl::StrFormat(R"({"time":"%s","level":"%s","event":%s)",
                      absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::Now(),
                                       absl::UTCTimeZone()),
                      LevelName(level), JsonString(event));
  for (const LogField& field : fields) {
    line += absl::StrFormat(",%s:%s", JsonString(field.name),
                            std::visit(ToJson{}, field.value));
  }
  line += '}';
  logger_->log(SpdlogLevel(level), spdlog::string_view_t(line));
}

}  // namespace telltale::server
