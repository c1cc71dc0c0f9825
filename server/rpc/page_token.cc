// A token is four hexadecimal numbers of 64 bits, without anything between:
//   time_ns, epoch, sequence, checksum of these and of the listing.

#include "server/rpc/page_token.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include "absl/strings/str_format.h"

#include "server/rpc/error_details.h"
#include "server/storage/crc32c.h"

namespace telltale::server {
namespace {

constexpr size_t kDigits = 16;
constexpr size_t kNumbers = 4;

// Everything that must be the same on each page, the length of pages excepted.
uint64_t Checksum(const ScoreQuery& query, const ScoreCursor& cursor) {
  const auto number = [](const std::optional<int64_t>& value) {
    return value ? absl::StrFormat("%d", *value) : std::string("none");
  };
  const std::string listing = absl::StrFormat(
      "%s\n%s\n%d\n%s\n%s\n%s\n%d\n%s\n%d %d %d", query.key.tenant,
      query.key.stream, static_cast<int>(query.key.mode),
      number(query.start_time_ns), number(query.end_time_ns),
      query.min_score ? absl::StrFormat("%.9g", *query.min_score) : "none",
      query.anomalies_only ? 1 : 0, number(query.epoch), cursor.time_ns,
      cursor.epoch, cursor.sequence);
  return Crc32c(listing);
}

}  // namespace

std::string MakePageToken(const ScoreQuery& query, const ScoreCursor& cursor) {
  return absl::StrFormat(
      "%016x%016x%016x%016x", static_cast<uint64_t>(cursor.time_ns),
      static_cast<uint64_t>(cursor.epoch),
      static_cast<uint64_t>(cursor.sequence), Checksum(query, cursor));
}

absl::StatusOr<ScoreCursor> ParsePageToken(const std::string& token,
                                           const ScoreQuery& query) {
  const absl::Status refused = FieldError(
      "page_token",
      "not the token of a page of this listing; take next_page_token as it is "
      "and leave the other fields as they were");
  if (token.size() != kNumbers * kDigits) return refused;
  uint64_t numbers[kNumbers] = {};
  for (size_t i = 0; i < kNumbers; ++i) {
    const char* begin = token.data() + i * kDigits;
    const auto [end, error] =
        std::from_chars(begin, begin + kDigits, numbers[i], 16);
    if (error != std::errc() || end != begin + kDigits) return refused;
  }
  const ScoreCursor cursor{.time_ns = static_cast<int64_t>(numbers[0]),
                           .epoch = static_cast<int64_t>(numbers[1]),
                           .sequence = static_cast<int64_t>(numbers[2])};
  if (numbers[3] != Checksum(query, cursor)) return refused;
  return cursor;
}

}  // namespace telltale::server
