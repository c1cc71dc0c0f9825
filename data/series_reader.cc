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

// A comma may also be part of a name.
bool IsList(const std::string& spec) {
  std::error_code ignored;
  return spec.find(',') != std::string::npos &&
         !std::filesystem::exists(spec, ignored);
}

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

absl::StatusOr<std::vector<Series>> ReadSeveral(
    const std::vector<std::string>& paths) {
  std::vector<std::vector<Series>> files;
  for (const std::string& path : paths) {
    if (!path.ends_with(".npy")) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "\"%s\" does not end in .npy; only .npy files can be laid side by "
          "side, with commas between them",
          path));
    }
    absl::StatusOr<std::vector<Series>> file = ReadNpySegments(path);
    if (!file.ok()) return file.status();
    if (!files.empty()) {
      const std::vector<Series>& first = files.front();
      if (file->size() != first.size()) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "%s has %d segments and %s has %d; files laid side by side need "
            "the same number",
            paths.front(), first.size(), path, file->size()));
      }
      if (file->front().length() != first.front().length()) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "%s has %d rows and %s has %d; files laid side by side need the "
            "same length",
            paths.front(), first.front().length(), path,
            file->front().length()));
      }
    }
    files.push_back(*std::move(file));
  }
  std::vector<Series> segments;
  for (size_t i = 0; i < files.front().size(); ++i) {
    std::vector<Series> parts;
    parts.reserve(files.size());
    for (std::vector<Series>& file : files) {
      parts.push_back(std::move(file[i]));
    }
    absl::StatusOr<Series> segment = LaySideBySide(std::move(parts));
    if (!segment.ok()) return segment.status();
    segments.push_back(*std::move(segment));
  }
  return segments;
}

absl::StatusOr<std::vector<Series>> ReadUnnamed(const std::string& spec) {
  if (IsList(spec)) return ReadSeveral(SplitAtCommas(spec));
  if (spec.ends_with(".npy")) return ReadNpySegments(spec);
  if (spec.ends_with(".csv")) {
    absl::StatusOr<Series> series = ReadCsv(spec);
    if (!series.ok()) return series.status();
    std::vector<Series> segments;
    segments.push_back(*std::move(series));
    return segments;
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "cannot tell what \"%s\" holds; expected a path that ends in .csv or "
      ".npy",
      spec));
}

}  // namespace

absl::StatusOr<Series> ReadSeries(const std::string& spec) {
  if (spec.ends_with(".npy") && !IsList(spec)) return ReadNpy(spec);
  absl::StatusOr<std::vector<Series>> segments = ReadSegments(spec);
  if (!segments.ok()) return segments.status();
  if (segments->size() > 1) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s holds %d segments; expected one series", spec, segments->size()));
  }
  return std::move(segments->front());
}

absl::StatusOr<std::vector<Series>> ReadSegments(const std::string& spec) {
  absl::StatusOr<std::vector<Series>> segments = ReadUnnamed(spec);
  if (!segments.ok()) return segments;
  for (size_t i = 0; i < segments->size(); ++i) {
    (*segments)[i].name = segments->size() == 1
                              ? spec
                              : absl::StrFormat("%s, segment %d", spec, i);
  }
  return segments;
}

}  // namespace telltale::data
