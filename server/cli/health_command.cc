// telltale health: asks a server whether requests are welcome.

#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include <CLI/CLI.hpp>

#include "proto/grpc/health/v1/health.grpc.pb.h"
#include "server/cli/commands.h"
#include "server/cli/failure.h"
#include "server/cli/scoring_client.h"

namespace telltale::server {
namespace {

constexpr int kFailure = 1;

void RunHealth(const std::string& server, double timeout_seconds,
               CommandResult& result) {
  namespace health = ::grpc::health::v1;
  const auto stub = health::Health::NewStub(ConnectTo(server));
  grpc::ClientContext context;
  context.set_deadline(
      std::chrono::system_clock::now() +
      std::chrono::milliseconds(static_cast<int64_t>(timeout_seconds * 1000)));
  health::HealthCheckResponse response;
  const grpc::Status status =
      stub->Check(&context, health::HealthCheckRequest(), &response);
  if (!status.ok()) {
    PrintFailure(DescribeFailure(server, status));
    result.exit_code = kFailure;
    return;
  }
  std::cout << health::HealthCheckResponse::ServingStatus_Name(
                   response.status())
            << '\n';
  if (response.status() != health::HealthCheckResponse::SERVING) {
    result.exit_code = kFailure;
  }
}

}  // namespace

void AddHealthCommand(CLI::App& app, CommandResult& result) {
  constexpr double kTimeoutSeconds = 3;
  CLI::App* command = app.add_subcommand(
      "health", "Exit 0 when the server is ready to serve, 1 when not");
  auto server = std::make_shared<std::string>();  // shared with the callback
  auto timeout = std::make_shared<double>(kTimeoutSeconds);
  command->add_option("--server", *server, "Address of the server")
      ->option_text("HOST:PORT")
      ->required();
  command->add_option("--timeout", *timeout, "How long to wait, in seconds [3]")
      ->option_text("SECONDS")
      ->check(CLI::Range(0.01, 3600.0));
  command->callback(
      [server, timeout, &result] { RunHealth(*server, *timeout, result); });
}

}  // namespace telltale::server
