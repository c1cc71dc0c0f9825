#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

#include "data/channel.h"
#include "data/csv_reader.h"
#include "data/series.h"

namespace telltale::server {

// For each of the `wanted` channels its column in a file that `has` others'
// order. Kinds do not matter: files cannot tell all of them.
//
// kInvalidArgument, naming `file` and the channel: one that is not wanted, one
// that is missing, a unit that differs from the wanted one. Where the file
// declares no unit, it is taken to be the wanted one. `whose` says whose
// channels are wanted: "the model".
absl::StatusOr<std::vector<int>> MatchChannels(const std::string& file,
                                               const data::ChannelSet& has,
                                               const data::ChannelSet& wanted,
                                               const std::string& whose);

// The same for a recording as a command line names it. The channels of .npy
// files are called after the file: where none of them is known by name and
// there are as many as wanted, they are taken in their order.
absl::StatusOr<std::vector<int>> MatchRecording(const std::string& spec,
                                                const data::ChannelSet& has,
                                                const data::ChannelSet& wanted,
                                                const std::string& whose);

// Instants in order of time, row-major.
struct Instants {
  std::vector<int64_t> time_ns;
  std::vector<float> samples;  // [time_ns.size(), channels]

  int length() const { return static_cast<int>(time_ns.size()); }
};

// Telemetry read from a file piece by piece, its channels in the order of a
// model. CSV is read in constant memory, .npy at once. Not thread-safe.
class TelemetrySource {
 public:
  // `spec` as ReadSeries takes it. Errors as ReadSeries and MatchRecording.
  static absl::StatusOr<TelemetrySource> Open(const std::string& spec,
                                              const data::ChannelSet& model);
  // `spec` as data::ReadSegments takes it: one source for each segment. Errors
  // as data::ReadSegments and MatchRecording.
  static absl::StatusOr<std::vector<TelemetrySource>> OpenSegments(
      const std::string& spec, const data::ChannelSet& model);

  // Appends the next instants, at most `most` of them; returns how many there
  // were, 0 after the last.
  absl::StatusOr<int> Read(int most, Instants& instants);

  // How the file writes time; known once an instant has been read.
  data::TimeForm time_form() const;
  // Instants in all, where it is known beforehand.
  std::optional<int64_t> length() const;

 private:
  TelemetrySource(std::variant<data::CsvReader, data::Series> file,
                  std::vector<int> columns)
      : file_(std::move(file)), columns_(std::move(columns)) {}

  absl::StatusOr<int> ReadCsv(data::CsvReader& reader, int most,
                              Instants& instants);
  int ReadSeries(const data::Series& series, int most, Instants& instants);

  std::variant<data::CsvReader, data::Series> file_;
  std::vector<int> columns_;  // [model's channel] -> file's
  int next_ = 0;              // instant of a series
  std::vector<float> row_;
};

}  // namespace telltale::server
