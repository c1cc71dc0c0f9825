// telltale stream: streams a file to a server and prints what comes back.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include <CLI/CLI.hpp>

#include "data/series_reader.h"
#include "data/time_stamp.h"
#include "server/cli/anomaly_digest.h"
#include "server/cli/commands.h"
#include "server/cli/failure.h"
#include "server/cli/score_messages.h"
#include "server/cli/score_table.h"
#include "server/cli/scoring_client.h"

namespace telltale::server {
namespace {

namespace v1 = ::telltale::v1;

using std::chrono::steady_clock;

constexpr int kFailure = 1;
// Keeps a frame far below what the server takes.
constexpr int64_t kMaxSamplesAWindow = 64 << 10;

struct StreamFlags {
  std::string server;
  std::string stream;
  std::string data;
  std::string tenant;
  std::string model;
  std::string out;
  std::optional<int64_t> epoch;
  int window = 16;
  double rate_hz = 0;
  double patience_seconds = 10;
  bool playback = false;
  bool json = false;
  bool each = false;
};

// Where the scores go: a table, and the anomalies in words unless the table
// takes standard output; each anomaly once it is over, or each of its instants.
struct Printer {
  std::optional<ScoreTable> table;
  AnomalyDigest digest;
  bool sentences = false;
  bool each = false;
  data::TimeForm form = data::TimeForm::kSeconds;
  int64_t instants = 0;
  int64_t anomalies = 0;

  void Print(const v1::WindowScored& scored) {
    for (const v1::InstantScore& instant : scored.instants()) {
      const ScoreRow row = RowFrom(instant, scored.threshold());
      ++instants;
      if (row.anomaly) ++anomalies;
      if (table) table->Append(row);
      const auto over = digest.Take(row);
      if (!sentences) continue;
      if (each && row.anomaly) {
        std::cout << DescribeAnomaly(row, form) << std::endl;
      }
      if (!each && over) Tell(*over);
    }
  }

  void Finish() {
    const auto over = digest.Finish();
    if (sentences && !each && over) Tell(*over);
  }

  void Tell(const AnomalyDigest::Anomaly& anomaly) const {
    const auto time = [this](int64_t time_ns) {
      return data::FormatTimeStamp(time_ns, form);
    };
    std::cout << DescribeAnomaly(anomaly.strongest, form);
    if (anomaly.instants > 1) {
      std::cout << absl::StrFormat(
          "  (strongest of %d from %s to %s)", anomaly.instants,
          time(anomaly.first_time_ns), time(anomaly.last_time_ns));
    }
    std::cout << std::endl;
  }
};

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

v1::OpenStream OpeningOf(const StreamFlags& flags, const data::Series& series) {
  v1::OpenStream open;
  open.set_tenant(flags.tenant);
  open.set_stream(flags.stream);
  // Unless told otherwise each run begins the stream afresh.
  open.set_epoch(flags.epoch.value_or(NowMs()));
  open.set_model(flags.model);
  open.set_mode(flags.playback ? v1::STREAM_MODE_PLAYBACK
                               : v1::STREAM_MODE_LIVE);
  for (const data::Channel& channel : series.channels.channels()) {
    v1::Channel& declared = *open.add_channels();
    declared.set_name(channel.name);
    declared.set_unit(channel.unit);
  }
  return open;
}

v1::Window WindowOf(const data::Series& series, int begin, int end) {
  v1::Window window;
  for (int t = begin; t < end; ++t) {
    window.add_time_ns(series.time_ns[t]);
    const auto samples = series.Instant(t);
    window.mutable_samples()->Add(samples.begin(), samples.end());
  }
  return window;
}

absl::StatusOr<Printer> MakePrinter(const StreamFlags& flags,
                                    data::TimeForm form) {
  Printer printer;
  printer.form = form;
  printer.sentences = !flags.json || !flags.out.empty();
  printer.each = flags.each;
  if (flags.json || !flags.out.empty()) {
    absl::StatusOr<ScoreTable> table = ScoreTable::Create(
        flags.out,
        flags.json ? ScoreTable::Format::kJsonLines : ScoreTable::Format::kCsv,
        form);
    if (!table.ok()) return table.status();
    printer.table = std::move(*table);
  }
  return printer;
}

absl::Status StreamSeries(const StreamFlags& flags, const data::Series& series,
                          ScoringClient& client) {
  const auto start = steady_clock::now();
  const int64_t fits =
      std::max<int64_t>(1, kMaxSamplesAWindow / series.channels.size());
  const int length = static_cast<int>(std::min<int64_t>(flags.window, fits));
  for (int begin = 0; begin < series.length(); begin += length) {
    const int end = std::min(series.length(), begin + length);
    if (flags.rate_hz > 0) {
      // A window leaves when its last instant would have been measured.
      const std::chrono::duration<double> since(end / flags.rate_hz);
      absl::Status waited = client.WaitUntil(
          start + std::chrono::duration_cast<steady_clock::duration>(since));
      if (!waited.ok()) return waited;
    }
    if (absl::Status sent = client.Send(WindowOf(series, begin, end));
        !sent.ok()) {
      return sent;
    }
  }
  return client.Finish();
}

absl::Status Stream(const StreamFlags& flags) {
  const absl::StatusOr<data::Series> series = data::ReadSeries(flags.data);
  if (!series.ok()) return series.status();
  absl::StatusOr<Printer> printer = MakePrinter(flags, series->time_form);
  if (!printer.ok()) return printer.status();
  ScoringClient client(
      {.server = flags.server,
       .open = OpeningOf(flags, *series),
       .patience = std::chrono::milliseconds(
           static_cast<int64_t>(flags.patience_seconds * 1000))},
      [&printer](const v1::WindowScored& scored) { printer->Print(scored); });
  absl::Status status = StreamSeries(flags, *series, client);
  printer->Finish();
  // What has been answered stays in the table whatever happened since.
  if (printer->table) {
    const absl::Status closed = printer->table->Close();
    if (status.ok()) status = closed;
  }
  if (!status.ok()) return status;
  std::cerr << absl::StrFormat(
      "%d instants of stream '%s' scored by model '%s': %d anomalies, %d "
      "instants above the threshold\n",
      printer->instants, flags.stream, client.opened().model(),
      printer->digest.count(), printer->anomalies);
  return absl::OkStatus();
}

}  // namespace

void AddStreamCommand(CLI::App& app, CommandResult& result) {
  CLI::App* command = app.add_subcommand(
      "stream", "Stream a file to a server; print anomalies as they come back");
  auto flags = std::make_shared<StreamFlags>();  // shared with the callback
  command->add_option("--server", flags->server, "Address of the server")
      ->option_text("HOST:PORT")
      ->required();
  command->add_option("--stream", flags->stream, "Name of the stream")
      ->option_text("NAME")
      ->required();
  command
      ->add_option("--data", flags->data,
                   "CSV or .npy file; several .npy with commas between")
      ->option_text("FILE")
      ->required();
  command->add_option("--window", flags->window, "Instants sent at once [16]")
      ->option_text("N")
      ->check(CLI::Range(1, 65'536));
  command
      ->add_option("--rate", flags->rate_hz,
                   "Instants a second [0: as fast as they are scored]")
      ->option_text("HZ")
      ->check(CLI::Range(0.0, 1e9));
  command->add_option("--out", flags->out, "Write one row an instant here")
      ->option_text("FILE");
  command->add_flag("--json", flags->json,
                    "JSON lines, one an instant, instead of sentences (with "
                    "--out: in the file)");
  command->add_flag("--each", flags->each,
                    "A sentence for each anomalous instant as it comes, "
                    "instead of one for each anomaly once it is over");
  command
      ->add_option("--model", flags->model,
                   "Model to score with [the server's only one]")
      ->option_text("NAME");
  command->add_option("--tenant", flags->tenant, "Whose stream [default]")
      ->option_text("NAME");
  command
      ->add_option("--epoch", flags->epoch,
                   "Number of this run of the stream; the same goes on where "
                   "it stopped, a higher one begins afresh [now, in ms]")
      ->option_text("N")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()));
  command->add_flag("--playback", flags->playback,
                    "A recording: kept apart from the live stream");
  command
      ->add_option("--patience", flags->patience_seconds,
                   "Seconds to go on trying to reach the server [10]")
      ->option_text("SECONDS")
      ->check(CLI::Range(0.0, 1e9));
  command->callback([flags, &result] {
    if (const absl::Status status = Stream(*flags); !status.ok()) {
      PrintFailure(status);
      result.exit_code = kFailure;
    }
  });
}

}  // namespace telltale::server
