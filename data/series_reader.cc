#include "data/series_reader.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

#include "data/csv_reader.h"
#include "data/npy_reader.h"

namespace telltale::data {
namespace {

std::vector<std::string> SplitAtCommas(const std::string& spec) {
  std::vector<std::string> paths;
  size_t begin = 0;
  while (true) {
    const size_t comma = std::min(spec.find(',', begin), spec.size());
    paths.push_back(spec.substr(begin, comma - begin));
    if (comma == spec.size()) return paths;
    begin = comma + 1;
  }
}

// The channels of all parts, one after the other. REQUIRES: equal lengths.
absl::StatusOr<Series> LaySideBySide(std::vector<Series> parts) {
  std::vector<Channel> channels;
  for (const Series& part : parts) {
    const std::vector<Channel>& more = part.channels.channels();
    channels.insert(channels.end(), more.begin(), more.end());
  }
  absl::StatusOr<ChannelSet> set = ChannelSet::Create(std::move(channels));
  if (!set.ok()) return set.status();

  Series whole;
  whole.channels = *std::move(set);
  whole.time_ns = std::move(parts.front().time_ns);
  whole.samples.reserve(whole.time_ns.size() * whole.channels.size());
  for (int t = 0; t < whole.length(); ++t) {
    for (const Series& part : parts) {
      const ptrdiff_t width = part.channels.size();
      const auto begin = part.samples.begin() + t * width;
      whole.samples.insert(whole.samples.end(), begin, begin + width);
    }
  }
  return whole;
}

absl::StatusOr<Series> ReadSeveral(const std::vector<std::string>& paths) {
  std::vector<Series> parts;
  for (const std::string& path : paths) {
    if (!path.ends_with(".npy")) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "\"%s\" does not end in .npy; only .npy files can be laid side by "
          "side, with commas between them",
          path));
    }
    absl::StatusOr<Series> part = ReadNpy(path);
    if (!part.ok()) return part.status();
    if (!parts.empty() && part->length() != parts.front().length()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s has %d rows and %s has %d; files laid side by side need the same "
          "length",
          paths.front(), parts.front().length(), path, part->length()));
    }
    parts.push_back(*std::move(part));
  }
  return LaySideBySide(std::move(parts));
}

}  // namespace

absl::StatusOr<Series> ReadSeries(const std::string& spec) {
  // A comma may also be part of a name.
  std::error_code ignored;
  if (spec.find(',') != std::string::npos &&
      !std::filesystem::exists(spec, ignored)) {
    return ReadSeveral(SplitAtCommas(spec));
  }
  if (spec.ends_with(".csv")) return ReadCsv(spec);
  if (spec.ends_with(".npy")) return ReadNpy(spec);
  return absl::InvalidArgumentError(absl::StrFormat(
      "cannot tell what \"%s\" holds; expected a path that ends in .csv or "
      ".npy",
      spec));
}

}  // namespace telltale::data
