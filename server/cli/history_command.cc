// telltale history: prints what a server has stored of a stream.

#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include <CLI/CLI.hpp>
#include <grpcpp/grpcpp.h>

#include "data/time_stamp.h"
#include "proto/telltale/v1/score_history_service.grpc.pb.h"
#include "server/cli/commands.h"
#include "server/cli/failure.h"
#include "server/cli/score_messages.h"
#include "server/cli/score_table.h"
#include "server/cli/scoring_client.h"

namespace telltale::server {
namespace {

namespace v1 = ::telltale::v1;

constexpr int kFailure = 1;
constexpr int kUsage = 2;
constexpr int kPageSize = 1000;
// Time stamps beyond are dates; before, seconds of a run's own.
constexpr int64_t kFirstDateNs = 946'684'800'000'000'000;  // the year 2000

struct HistoryFlags {
  std::string server;
  std::string stream;
  std::string tenant;
  std::string from;
  std::string to;
  std::string out;
  std::optional<float> min_score;
  std::optional<int64_t> epoch;
  bool anomalies = false;
  bool playback = false;
  bool json = false;
};

absl::StatusOr<v1::ListScoresRequest> RequestFrom(const HistoryFlags& flags) {
  v1::ListScoresRequest request;
  request.set_tenant(flags.tenant);
  request.set_stream(flags.stream);
  request.set_mode(flags.playback ? v1::STREAM_MODE_PLAYBACK
                                  : v1::STREAM_MODE_LIVE);
  request.set_anomalies_only(flags.anomalies);
  request.set_page_size(kPageSize);
  if (flags.min_score) request.set_min_score(*flags.min_score);
  if (flags.epoch) request.set_epoch(*flags.epoch);
  if (!flags.from.empty()) {
    const auto time = data::ParseTimeStamp(flags.from);
    if (!time.ok()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("--from: %s", time.status().message()));
    }
    request.set_start_time_ns(time->time_ns);
  }
  if (!flags.to.empty()) {
    const auto time = data::ParseTimeStamp(flags.to);
    if (!time.ok()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("--to: %s", time.status().message()));
    }
    // To the end of that instant, as people mean it.
    request.set_end_time_ns(time->time_ns + 1);
  }
  return request;
}

data::TimeForm FormFor(int64_t time_ns) {
  return time_ns >= kFirstDateNs ? data::TimeForm::kRfc3339
                                 : data::TimeForm::kSeconds;
}

// Prints rows in words, or into a table that begins with the first of them,
// whose time stamp tells the form.
class HistoryPrinter {
 public:
  explicit HistoryPrinter(const HistoryFlags& flags) : flags_(flags) {}

  absl::Status Print(const ScoreRow& row) {
    const data::TimeForm form = FormFor(row.time_ns);
    if (!flags_.json && flags_.out.empty()) {
      std::cout << (row.anomaly ? DescribeAnomaly(row, form)
                                : DescribeNominal(row, form))
                << '\n';
      return absl::OkStatus();
    }
    if (absl::Status status = Begin(form); !status.ok()) return status;
    table_->Append(row);
    return absl::OkStatus();
  }

  absl::Status Close() {
    if (!flags_.json && flags_.out.empty()) return absl::OkStatus();
    absl::Status status = Begin(data::TimeForm::kSeconds);
    return status.ok() ? table_->Close() : status;
  }

 private:
  absl::Status Begin(data::TimeForm form) {
    if (table_) return absl::OkStatus();
    absl::StatusOr<ScoreTable> table = ScoreTable::Create(
        flags_.out,
        flags_.json ? ScoreTable::Format::kJsonLines : ScoreTable::Format::kCsv,
        form);
    if (table.ok()) table_ = std::move(*table);
    return table.status();
  }

  const HistoryFlags& flags_;
  std::optional<ScoreTable> table_;
};

absl::Status List(const HistoryFlags& flags, v1::ListScoresRequest request) {
  const auto stub = v1::ScoreHistoryService::NewStub(ConnectTo(flags.server));
  HistoryPrinter printer(flags);
  do {
    grpc::ClientContext context;
    v1::ListScoresResponse response;
    const grpc::Status status = stub->ListScores(&context, request, &response);
    if (!status.ok()) return DescribeFailure(flags.server, status);
    for (const v1::StoredScore& score : response.scores()) {
      const ScoreRow row = RowFrom(score.instant(), score.threshold());
      if (absl::Status printed = printer.Print(row); !printed.ok()) {
        return printed;
      }
    }
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  return printer.Close();
}

void RunHistory(const HistoryFlags& flags, CommandResult& result) {
  absl::StatusOr<v1::ListScoresRequest> request = RequestFrom(flags);
  if (!request.ok()) {
    PrintFailure(request.status());
    result.exit_code = kUsage;
    return;
  }
  if (const absl::Status status = List(flags, std::move(*request));
      !status.ok()) {
    PrintFailure(status);
    result.exit_code = kFailure;
  }
}

}  // namespace

void AddHistoryCommand(CLI::App& app, CommandResult& result) {
  CLI::App* command =
      app.add_subcommand("history", "Print the stored scores of a stream");
  auto flags = std::make_shared<HistoryFlags>();  // shared with the callback
  command->add_option("--server", flags->server, "Address of the server")
      ->option_text("HOST:PORT")
      ->required();
  command->add_option("--stream", flags->stream, "Name of the stream")
      ->option_text("NAME")
      ->required();
  command
      ->add_option("--from", flags->from,
                   "First time stamp, RFC 3339 or seconds [the first stored]")
      ->option_text("T");
  command->add_option("--to", flags->to, "Last time stamp [the last stored]")
      ->option_text("T");
  command
      ->add_option("--min-score", flags->min_score,
                   "Only instants with at least this score")
      ->option_text("X");
  command->add_flag("--anomalies", flags->anomalies,
                    "Only instants that were anomalies");
  command->add_option("--epoch", flags->epoch, "Only this epoch [all]")
      ->option_text("N");
  command->add_flag("--playback", flags->playback,
                    "The recording of that name instead of the live stream");
  command->add_option("--tenant", flags->tenant, "Whose stream [default]")
      ->option_text("NAME");
  command->add_option("--out", flags->out, "Write the table here")
      ->option_text("FILE");
  command->add_flag("--json", flags->json, "JSON lines, one an instant");
  command->callback([flags, &result] { RunHistory(*flags, result); });
}

}  // namespace telltale::server
