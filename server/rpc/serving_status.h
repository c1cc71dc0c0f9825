#pragma once

#include <mutex>

#include <grpcpp/health_check_service_interface.h>

namespace telltale::server {

// What health checks are told. Everything serves from Begin to End; while the
// archive cannot be written, the server as a whole and
// AnomalyDetectionService do not, and the services that only read still do.
// Thread-safe.
class ServingStatus {
 public:
  // The server listens. `health` is touched until End.
  void Begin(grpc::HealthCheckServiceInterface* health);
  void SetWritable(bool writable);
  // Nothing serves any more.
  void End();

 private:
  void TellLocked();

  std::mutex mutex_;  // guards the members below
  grpc::HealthCheckServiceInterface* health_ = nullptr;  // null: not serving
  bool writable_ = true;
};

}  // namespace telltale::server
