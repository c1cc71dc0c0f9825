#include "server/cli/false_alarm_budget.h"

#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace telltale::server {
namespace {

// More than one event every ten instants cannot be: alarms so close are one.
constexpr double kMostPer10k = 1000;

}  // namespace

absl::StatusOr<FalseAlarmBudget> FalseAlarmBudget::Parse(
    std::string_view text) {
  FalseAlarmBudget budget;
  const size_t slash = text.find('/');
  const std::string_view number = text.substr(0, slash);
  const std::string_view span =
      slash == std::string_view::npos ? "" : text.substr(slash + 1);
  const char* end = number.data() + number.size();
  const auto [stopped, error] =
      std::from_chars(number.data(), end, budget.events);
  const bool is_number = error == std::errc() && stopped == end;
  if (!is_number || (span != "day" && span != "10000") ||
      !(budget.events > 0) || !std::isfinite(budget.events)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("'%s' is no budget of false alarms; write N/10000 "
                        "(for each 10,000 instants) or N/day, N above 0",
                        text));
  }
  budget.per_day = span == "day";
  if (!budget.per_day && budget.events > kMostPer10k) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "'%s' is more than the %g events that 10,000 instants can have", text,
        kMostPer10k));
  }
  return budget;
}

double FalseAlarmBudget::Per10k(int64_t cadence_ns) const {
  if (!per_day) return events;
  constexpr double kDayNs = 86'400e9;
  return events * static_cast<double>(cadence_ns) / kDayNs * 10'000;
}

}  // namespace telltale::server
