#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace spdlog {
class logger;
}  // namespace spdlog

namespace telltale::server {

// One named value of a log line.
struct LogField {
  LogField(std::string_view field, bool v) : name(field), value(v) {}
  LogField(std::string_view field, int v) : name(field), value(int64_t{v}) {}
  LogField(std::string_view field, int64_t v) : name(field), value(v) {}
  LogField(std::string_view field, double v) : name(field), value(v) {}
  LogField(std::string_view field, const char* v)
      : name(field), value(std::string(v)) {}
  LogField(std::string_view field, std::string v)
      : name(field), value(std::move(v)) {}

  std::string_view name;
  std::variant<bool, int64_t, double, std::string> value;
};

// The server's log: one JSON object a line on standard error, with "time",
// "level", "event" and the fields given. Text is escaped to ASCII and cut at
// 256 bytes, so that no client can forge or flood a line. Thread-safe.
class Log {
 public:
  enum class Level { kDebug, kInfo, kWarning, kError };

  explicit Log(Level least = Level::kInfo);
  ~Log();

  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void Info(std::string_view event,
            std::initializer_list<LogField> fields = {});
  void Warning(std::string_view event,
               std::initializer_list<LogField> fields = {});
  void Error(std::string_view event,
             std::initializer_list<LogField> fields = {});

 private:
  void Write(Level level, std::string_view event,
             std::initializer_list<LogField> fields);

  std::unique_ptr<spdlog::logger> logger_;
};

// `text` as a JSON string with its quotes, ASCII only, at most 256 bytes of it.
std::string JsonString(std::string_view text);

}  // namespace telltale::server
