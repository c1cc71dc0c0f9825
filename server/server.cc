#include "server/server.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include <grpc/support/time.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include "server/scheduling/score_task.h"
#include "server/storage/sqlite_score_store.h"

namespace telltale::server {
namespace {

constexpr int kMaxReceivedBytes = 512 << 10;
// Answers stay far below; this is the second line.
constexpr int kMaxSentBytes = 3 << 20;

BatchScheduler::Options SchedulerOptions(const Options& options) {
  const auto processors = static_cast<int>(std::thread::hardware_concurrency());
  return {.workers =
              options.threads > 0 ? options.threads : std::max(1, processors),
          .max_batch_size = options.max_batch_size,
          .max_delay = std::chrono::microseconds(options.max_batch_delay_us),
          .max_queued = options.max_queued_windows};
}

// What a connection may cost. Without the first two, one stalled stream holds
// megabytes of buffers.
void BoundConnections(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument("grpc.http2.bdp_probe", 0);
  builder.AddChannelArgument("grpc.http2.lookahead_bytes", 65'535);
  builder.AddChannelArgument("grpc.max_concurrent_streams", 128);
  builder.AddChannelArgument("grpc.max_metadata_size", 8192);
  builder.AddChannelArgument("grpc.server_handshake_timeout_ms", 5000);
  builder.AddChannelArgument("grpc.keepalive_time_ms", 10'000);
  builder.AddChannelArgument("grpc.keepalive_timeout_ms", 5000);
  builder.AddChannelArgument("grpc.http2.min_ping_interval_without_data_ms",
                             5000);
  builder.AddChannelArgument("grpc.keepalive_permit_without_calls", 1);
  builder.AddChannelArgument("grpc.max_connection_idle_ms", 300'000);
  // A second server on the same port is an error, not a partner.
  builder.AddChannelArgument("grpc.so_reuseport", 0);
  // Only the identity: a small compressed message can be a huge one.
  builder.AddChannelArgument("grpc.compression_enabled_algorithms_bitset", 1);
  builder.SetMaxReceiveMessageSize(kMaxReceivedBytes);
  builder.SetMaxSendMessageSize(kMaxSentBytes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Options& options,
                                                      Models models, Log& log,
                                                      Clock& clock) {
  auto serving = std::make_shared<ServingStatus>();  // shared with the store
  SqliteScoreStore::Options store_options;
  store_options.path = options.store;
  store_options.on_writable = [&log, serving, file = options.store](
                                  const absl::Status& status) {
    serving->SetWritable(status.ok());
    if (status.ok()) {
      log.Info("the store takes windows again; serving", {{"store", file}});
    } else {
      log.Error("the store takes no windows; not serving until it does",
                {{"store", file}, {"reason", std::string(status.message())}});
    }
  };
  store_options.on_fatal = [&log,
                            file = options.store](const absl::Status& status) {
    log.Error("the store has failed; ending the process",
              {{"store", file}, {"reason", std::string(status.message())}});
    // Nothing may be acknowledged any more, and no part of an orderly end must
    // write. What had been acknowledged is safe.
    std::_Exit(EXIT_FAILURE);
  };
  absl::StatusOr<std::unique_ptr<SqliteScoreStore>> store =
      SqliteScoreStore::Open(std::move(store_options));
  if (!store.ok()) return store.status();
  std::unique_ptr<Server> server(new Server(options, std::move(models),
                                            std::move(serving),
                                            std::move(*store), log, clock));
  absl::Status status = server->WarmUp();
  if (status.ok()) status = server->Listen();
  if (!status.ok()) return status;
  return server;
}

Server::Server(const Options& options, Models models,
               std::shared_ptr<ServingStatus> serving,
               std::unique_ptr<ScoreStore> store, Log& log, Clock& clock)
    : options_(options),
      log_(log),
      models_(std::move(models)),
      serving_(std::move(serving)),
      attention_(int64_t{options.max_attention_mib} << 20),
      store_(std::move(store)),
      scheduler_(std::make_unique<BatchScheduler>(SchedulerOptions(options),
                                                  clock, ScoreBatch)),
      registry_(options.max_streams),
      detection_({.models = models_,
                  .registry = registry_,
                  .session = {.scheduler = *scheduler_,
                              .store = *store_,
                              .clock = clock,
                              .attention = attention_},
                  .max_window_length = options.max_window_length,
                  .attention_patience =
                      std::chrono::seconds(options.attention_seconds)}),
      history_(*store_),
      catalogue_(models_) {}

// The first call of each shape builds kernels: clients should not wait for it.
absl::Status Server::WarmUp() {
  for (const auto& [name, entry] : models_.entries()) {
    for (const int length : {1, 16}) {
      std::vector<int64_t> time_ns;
      time_ns.reserve(length);
      for (int t = 0; t < length; ++t) {
        time_ns.push_back(t * entry.detector->description().cadence_ns);
      }
      const int width = entry.label->channels.size();
      std::vector<float> missing(static_cast<size_t>(length) * width,
                                 std::numeric_limits<float>::quiet_NaN());
      const absl::StatusOr<data::Window> window =
          data::Window::Create(std::move(time_ns), std::move(missing), width);
      if (!window.ok()) return window.status();
      const auto state = entry.detector->NewStream();
      const model::StreamWindow stream{
          .state = state.get(), .window = &*window, .with_attention = false};
      const auto scores = entry.detector->Advance({&stream, 1});
      if (!scores.ok()) return scores.status();
    }
    log_.Info("model ready",
              {{"model", name}, {"version", entry.label->version}});
  }
  return absl::OkStatus();
}

absl::Status Server::Listen() {
  const absl::StatusOr<ListenAddress> listen =
      ParseListenAddress(options_.listen);
  if (!listen.ok()) return listen.status();
  grpc::EnableDefaultHealthCheckService(true);
  if (options_.reflection) {
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  }
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(options_.listen, grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&detection_);
  builder.RegisterService(&history_);
  builder.RegisterService(&catalogue_);
  BoundConnections(builder);
  grpc_server_ = builder.BuildAndStart();
  if (grpc_server_ == nullptr || port == 0) {
    return absl::UnavailableError(absl::StrFormat(
        "cannot listen on %s; is another server there? Port 0 takes a free "
        "one",
        options_.listen));
  }
  address_ = absl::StrFormat("%s:%d", listen->host, port);
  serving_->Begin(grpc_server_->GetHealthCheckService());
  log_.Info("serving", {{"address", address_}, {"store", options_.store}});
  return absl::OkStatus();
}

void Server::Drain() {
  if (grpc_server_ == nullptr) return;
  log_.Info("draining", {{"streams", registry_.open_streams()},
                         {"queued", scheduler_->queued()}});
  serving_->End();
  detection_.Drain();
  // A deadline on the monotonic clock: nobody's clock step can stretch it. The
  // last quarter is for the disk.
  const gpr_timespec patience =
      gpr_time_from_millis(int64_t{options_.drain_seconds} * 750, GPR_TIMESPAN);
  grpc_server_->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), patience));
  grpc_server_.reset();
  scheduler_.reset();
  store_.reset();
  log_.Info("drained");
}

Server::~Server() { Drain(); }

}  // namespace telltale::server
