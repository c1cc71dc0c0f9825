// Grammar:
//   stamp    = rfc3339 / seconds
//   rfc3339  = date ("T" / "t" / " ") clock [fraction] [offset]
//   date     = 4DIGIT "-" 2DIGIT "-" 2DIGIT
//   clock    = 2DIGIT ":" 2DIGIT ":" 2DIGIT
//   offset   = "Z" / "z" / ("+" / "-") 2DIGIT ":" 2DIGIT
//   seconds  = ["+" / "-"] 1*DIGIT [fraction] [("e" / "E") exponent]
//            / ["+" / "-"] fraction [("e" / "E") exponent]
//   fraction = "." *DIGIT

#include "data/time_stamp.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"

namespace telltale::data {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr int kNsDigits = 9;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

absl::Status Refuse(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrFormat("\"%s\" is no time stamp: %s",
                      absl::CHexEscape(std::string(text.substr(0, 40))), why));
}

constexpr std::string_view kBeyondRange =
    "it lies beyond the years 1678 to 2261 that nanoseconds in 64 bits reach";

// Takes exactly `count` digits off the front of `rest`.
std::optional<int> TakeDigits(std::string_view& rest, int count) {
  if (rest.size() < static_cast<size_t>(count)) return std::nullopt;
  int value = 0;
  for (const char c : rest.substr(0, count)) {
    if (!IsDigit(c)) return std::nullopt;
    value = 10 * value + (c - '0');
  }
  rest.remove_prefix(count);
  return value;
}

bool Take(std::string_view& rest, char expected) {
  if (rest.empty() || rest.front() != expected) return false;
  rest.remove_prefix(1);
  return true;
}

std::string_view TakeDigitRun(std::string_view& rest) {
  const size_t length =
      std::find_if_not(rest.begin(), rest.end(), IsDigit) - rest.begin();
  const std::string_view run = rest.substr(0, length);
  rest.remove_prefix(length);
  return run;
}

// value * 10 + digit, downwards from zero because int64 reaches one further
// there; false when it does not fit.
bool AppendDigit(int64_t& negative_value, char digit) {
  return !__builtin_mul_overflow(negative_value, 10, &negative_value) &&
         !__builtin_sub_overflow(negative_value, digit - '0', &negative_value);
}

// The decimal number 0.`digits` x 10^`shift`, negated, rounded to a whole
// number (halves away from zero). nullopt: does not fit.
std::optional<int64_t> NegatedWhole(std::string_view digits, int64_t shift) {
  while (!digits.empty() && digits.front() == '0') {
    digits.remove_prefix(1);
    --shift;
  }
  if (digits.empty() || shift < 0) return 0;
  // No int64 has 20 digits.
  if (shift >= 20) return std::nullopt;

  const auto count = static_cast<size_t>(shift);
  int64_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!AppendDigit(value, i < digits.size() ? digits[i] : '0')) {
      return std::nullopt;
    }
  }
  const bool up = count < digits.size() && digits[count] >= '5';
  if (up && __builtin_sub_overflow(value, 1, &value)) return std::nullopt;
  return value;
}

// Days from 1970-01-01 to the day of the proleptic Gregorian calendar, counted
// in eras of 400 years that begin in March, when the leap day comes last.
int64_t DaysFromCivil(int year, int month, int day) {
  const int y = month <= 2 ? year - 1 : year;
  const int era = (y >= 0 ? y : y - 399) / 400;
  const int year_of_era = y - era * 400;
  const int day_of_year =
      (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  const int day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return int64_t{era} * 146097 + day_of_era - 719468;
}

struct CivilDay {
  int64_t year;
  int month;
  int day;
};

// The inverse of DaysFromCivil.
CivilDay CivilFromDays(int64_t days) {
  const int64_t shifted = days + 719468;
  const int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  const int64_t day_of_era = shifted - era * 146097;
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 +
                               day_of_era / 36524 - day_of_era / 146096) /
                              365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted_month = (5 * day_of_year + 2) / 153;
  const int day =
      static_cast<int>(day_of_year - (153 * shifted_month + 2) / 5 + 1);
  const int month = static_cast<int>(shifted_month < 10 ? shifted_month + 3
                                                        : shifted_month - 9);
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

int DaysInMonth(int year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : kDays[month - 1];
}

// Takes the offset off the front of `rest`, in seconds east of UTC.
std::optional<int> TakeOffset(std::string_view& rest) {
  if (rest.empty()) return 0;
  if (Take(rest, 'Z') || Take(rest, 'z')) return 0;
  const int sign = rest.front() == '-' ? -1 : 1;
  if (!Take(rest, '+') && !Take(rest, '-')) return std::nullopt;
  const std::optional<int> hours = TakeDigits(rest, 2);
  if (!hours || *hours > 23 || !Take(rest, ':')) return std::nullopt;
  const std::optional<int> minutes = TakeDigits(rest, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  return sign * (*hours * 3600 + *minutes * 60);
}

absl::StatusOr<int64_t> ParseRfc3339(std::string_view text) {
  std::string_view rest = text;
  const std::optional<int> year = TakeDigits(rest, 4);
  const bool dash = Take(rest, '-');
  const std::optional<int> month = TakeDigits(rest, 2);
  const bool second_dash = Take(rest, '-');
  const std::optional<int> day = TakeDigits(rest, 2);
  if (!year || !dash || !month || !second_dash || !day) {
    return Refuse(text, "expected a date like 2026-01-31");
  }
  if (*month < 1 || *month > 12 || *day < 1 ||
      *day > DaysInMonth(*year, *month)) {
    return Refuse(text, "the calendar has no such day");
  }
  if (!Take(rest, 'T') && !Take(rest, 't') && !Take(rest, ' ')) {
    return Refuse(text, "expected T and a time like 12:00:00 after the date");
  }
  const std::optional<int> hour = TakeDigits(rest, 2);
  const bool colon = Take(rest, ':');
  const std::optional<int> minute = TakeDigits(rest, 2);
  const bool second_colon = Take(rest, ':');
  const std::optional<int> second = TakeDigits(rest, 2);
  if (!hour || !colon || !minute || !second_colon || !second) {
    return Refuse(text, "expected a time like 12:00:00 after the date");
  }
  if (*hour > 23 || *minute > 59 || *second > 59) {
    return Refuse(text, *second == 60
                            ? "leap seconds are not counted"
                            : "the clock has no such hour, minute or second");
  }
  std::string_view fraction;
  if (Take(rest, '.')) fraction = TakeDigitRun(rest);
  const std::optional<int> offset = TakeOffset(rest);
  if (!offset || !rest.empty()) {
    return Refuse(text, "expected Z or an offset like +02:00 at the end");
  }

  const int64_t seconds = DaysFromCivil(*year, *month, *day) * 86400 +
                          int64_t{*hour} * 3600 + int64_t{*minute} * 60 +
                          *second - *offset;
  // A rounded fraction may be a whole second; it never overflows.
  const int64_t part = -NegatedWhole(fraction, kNsDigits).value_or(0);
  // Before 1970 the whole seconds may lie just beyond int64 while the stamp
  // does not: moves one second into the part.
  const int64_t borrowed = seconds < 0 ? 1 : 0;
  int64_t time_ns = 0;
  if (__builtin_mul_overflow(seconds + borrowed, kNsPerSecond, &time_ns) ||
      __builtin_add_overflow(time_ns, part - borrowed * kNsPerSecond,
                             &time_ns)) {
    return Refuse(text, kBeyondRange);
  }
  return time_ns;
}

absl::StatusOr<int64_t> ParseSeconds(std::string_view text) {
  constexpr std::string_view kExpected =
      "expected RFC 3339, like 2026-01-31T12:00:00Z, or a number of seconds";
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest.front() == '-';
  if (!Take(rest, '-')) Take(rest, '+');
  const std::string_view whole = TakeDigitRun(rest);
  std::string digits(whole);
  if (Take(rest, '.')) digits += TakeDigitRun(rest);
  if (digits.empty()) return Refuse(text, kExpected);

  int exponent = 0;
  if (Take(rest, 'e') || Take(rest, 'E')) {
    if (rest.size() > 1 && rest[0] == '+' && IsDigit(rest[1])) Take(rest, '+');
    const auto parsed =
        std::from_chars(rest.data(), rest.data() + rest.size(), exponent);
    if (parsed.ec != std::errc()) return Refuse(text, kExpected);
    rest.remove_prefix(parsed.ptr - rest.data());
  }
  if (!rest.empty()) return Refuse(text, kExpected);

  const std::optional<int64_t> negated = NegatedWhole(
      digits, static_cast<int64_t>(whole.size()) + exponent + kNsDigits);
  if (!negated) return Refuse(text, kBeyondRange);
  if (negative) return *negated;
  if (*negated == std::numeric_limits<int64_t>::min()) {
    return Refuse(text, kBeyondRange);
  }
  return -*negated;
}

// ".5" for 500,000,000; nothing for 0.
std::string FormatFraction(uint64_t ns) {
  if (ns == 0) return "";
  std::string text = absl::StrFormat(".%09d", ns);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

}  // namespace

absl::StatusOr<TimeStamp> ParseTimeStamp(std::string_view text) {
  // A date is four digits and a dash; no number of seconds is.
  const bool dated = text.size() > 4 && text[4] == '-' &&
                     std::all_of(text.begin(), text.begin() + 4, IsDigit);
  const absl::StatusOr<int64_t> time_ns =
      dated ? ParseRfc3339(text) : ParseSeconds(text);
  if (!time_ns.ok()) return time_ns.status();
  return TimeStamp{*time_ns, dated ? TimeForm::kRfc3339 : TimeForm::kSeconds};
}

std::string FormatTimeStamp(int64_t time_ns, TimeForm form) {
  if (form == TimeForm::kSeconds) {
    // Unsigned, since the lowest int64 has no positive counterpart.
    const uint64_t magnitude = time_ns < 0 ? -static_cast<uint64_t>(time_ns)
                                           : static_cast<uint64_t>(time_ns);
    return absl::StrFormat("%s%d%s", time_ns < 0 ? "-" : "",
                           magnitude / kNsPerSecond,
                           FormatFraction(magnitude % kNsPerSecond));
  }
  int64_t seconds = time_ns / kNsPerSecond;
  int64_t part = time_ns % kNsPerSecond;
  if (part < 0) {
    part += kNsPerSecond;
    --seconds;
  }
  int64_t days = seconds / 86400;
  int64_t clock = seconds % 86400;
  if (clock < 0) {
    clock += 86400;
    --days;
  }
  const CivilDay civil = CivilFromDays(days);
  return absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02d%sZ", civil.year,
                         civil.month, civil.day, clock / 3600, clock / 60 % 60,
                         clock % 60, FormatFraction(part));
}

}  // namespace telltale::data
