#include "server/cli/telemetry_source.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

#include "data/series_reader.h"

namespace telltale::server {
namespace {

absl::Status CheckUnit(const std::string& file, const data::Channel& found,
                       const data::Channel& wanted, const std::string& whose) {
  if (found.unit.empty() || found.unit == wanted.unit) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s: channel '%s' is in '%s', and in %s it %s; convert the samples", file,
      found.name, found.unit, whose,
      wanted.unit.empty() ? "has no unit"
                          : absl::StrFormat("is in '%s'", wanted.unit)));
}

// Whether ReadSeries would read one CSV file.
bool IsCsv(const std::string& spec) {
  std::error_code ignored;
  return spec.ends_with(".csv") && (spec.find(',') == std::string::npos ||
                                    std::filesystem::exists(spec, ignored));
}

}  // namespace

absl::StatusOr<std::vector<int>> MatchChannels(const std::string& file,
                                               const data::ChannelSet& has,
                                               const data::ChannelSet& wanted,
                                               const std::string& whose) {
  for (const data::Channel& found : has.channels()) {
    const std::optional<int> index = wanted.Find(found.name);
    if (!index) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s: %s has no channel '%s'; rename the column, or "
                          "leave it out",
                          file, whose, found.name));
    }
    if (absl::Status status = CheckUnit(file, found, wanted[*index], whose);
        !status.ok()) {
      return status;
    }
  }
  std::vector<int> columns;
  for (const data::Channel& channel : wanted.channels()) {
    const std::optional<int> column = has.Find(channel.name);
    if (!column) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s: channel '%s' of %s is missing; add a column, "
                          "empty where nothing was measured",
                          file, channel.name, whose));
    }
    columns.push_back(*column);
  }
  return columns;
}

absl::StatusOr<std::vector<int>> MatchRecording(const std::string& spec,
                                                const data::ChannelSet& has,
                                                const data::ChannelSet& wanted,
                                                const std::string& whose) {
  const bool any_known = std::ranges::any_of(
      has.channels(), [&wanted](const data::Channel& channel) {
        return wanted.Find(channel.name).has_value();
      });
  if (any_known || has.size() != wanted.size() || !spec.ends_with(".npy")) {
    return MatchChannels(spec, has, wanted, whose);
  }
  std::vector<int> columns(static_cast<size_t>(has.size()));
  std::iota(columns.begin(), columns.end(), 0);
  return columns;
}

absl::StatusOr<TelemetrySource> TelemetrySource::Open(
    const std::string& spec, const data::ChannelSet& model) {
  const std::string whose = "the model";
  if (IsCsv(spec)) {
    absl::StatusOr<data::CsvReader> reader = data::CsvReader::Open(spec);
    if (!reader.ok()) return reader.status();
    auto columns = MatchChannels(spec, reader->channels(), model, whose);
    if (!columns.ok()) return columns.status();
    return TelemetrySource(*std::move(reader), *std::move(columns));
  }
  absl::StatusOr<data::Series> series = data::ReadSeries(spec);
  if (!series.ok()) return series.status();
  auto columns = MatchRecording(spec, series->channels, model, whose);
  if (!columns.ok()) return columns.status();
  return TelemetrySource(*std::move(series), *std::move(columns));
}

absl::StatusOr<std::vector<TelemetrySource>> TelemetrySource::OpenSegments(
    const std::string& spec, const data::ChannelSet& model) {
  std::vector<TelemetrySource> sources;
  if (IsCsv(spec)) {
    absl::StatusOr<TelemetrySource> source = Open(spec, model);
    if (!source.ok()) return source.status();
    sources.push_back(*std::move(source));
    return sources;
  }
  auto segments = data::ReadSegments(spec);
  if (!segments.ok()) return segments.status();
  const auto columns = MatchRecording(spec, segments->front().channels, model,
                                      /*whose=*/"the model");
  if (!columns.ok()) return columns.status();
  for (data::Series& segment : *segments) {
    sources.push_back(TelemetrySource(std::move(segment), *columns));
  }
  return sources;
}

absl::StatusOr<int> TelemetrySource::Read(int most, Instants& instants) {
  if (auto* reader = std::get_if<data::CsvReader>(&file_)) {
    return ReadCsv(*reader, most, instants);
  }
  return ReadSeries(std::get<data::Series>(file_), most, instants);
}

absl::StatusOr<int> TelemetrySource::ReadCsv(data::CsvReader& reader, int most,
                                             Instants& instants) {
  row_.resize(columns_.size());
  for (int count = 0; count < most; ++count) {
    int64_t time_ns = 0;
    const absl::StatusOr<bool> read = reader.Next(time_ns, row_);
    if (!read.ok()) return read.status();
    if (!*read) return count;
    instants.time_ns.push_back(time_ns);
    for (const int column : columns_) instants.samples.push_back(row_[column]);
  }
  return most;
}

int TelemetrySource::ReadSeries(const data::Series& series, int most,
                                Instants& instants) {
  const int count = std::min(most, series.length() - next_);
  for (int i = 0; i < count; ++i, ++next_) {
    instants.time_ns.push_back(series.time_ns[next_]);
    const std::span<const float> row = series.Instant(next_);
    for (const int column : columns_) instants.samples.push_back(row[column]);
  }
  return count;
}

data::TimeForm TelemetrySource::time_form() const {
  if (const auto* reader = std::get_if<data::CsvReader>(&file_)) {
    return reader->time_form();
  }
  return std::get<data::Series>(file_).time_form;
}

std::optional<int64_t> TelemetrySource::length() const {
  const auto* series = std::get_if<data::Series>(&file_);
  if (series == nullptr) return std::nullopt;
  return series->length();
}

}  // namespace telltale::server
