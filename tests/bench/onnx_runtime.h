#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace telltale::bench {

// ONNX Runtime's shared library, by its C interface, without its headers: no
// package that is installed has them. Used by one thread.
class OnnxRuntime {
 public:
  // One exported model on one thread, every optimisation on.
  class Session;

  // kFailedPrecondition: no such library at `path`, or one without the
  // interface that is used here.
  static absl::StatusOr<std::unique_ptr<OnnxRuntime>> Load(
      const std::string& path);

  const std::string& version() const { return version_; }

 private:
  using Slot = const void*;

  OnnxRuntime() = default;
  // The function at a place of the interface's table.
  template <typename... Arguments>
  absl::Status Call(int place, Arguments... arguments) const;

  std::string version_;
  const Slot* table_ = nullptr;
  void* environment_ = nullptr;
};

class OnnxRuntime::Session {
 public:
  // `runtime` must outlive it. kInvalidArgument: what the library says of the
  // model.
  static absl::StatusOr<std::unique_ptr<Session>> Open(
      const OnnxRuntime& runtime, const std::string& model);

  // Fixes the buffers of input and forecast, which must outlive Run; both by
  // [batch, instants, columns].
  absl::Status Bind(std::span<float> input,
                    std::span<const int64_t> input_shape,
                    std::span<float> forecast,
                    std::span<const int64_t> forecast_shape);
  absl::Status Run();

 private:
  explicit Session(const OnnxRuntime& runtime) : runtime_(runtime) {}

  absl::Status Tensor(std::span<float> values, std::span<const int64_t> shape,
                      void** tensor) const;

  const OnnxRuntime& runtime_;
  void* session_ = nullptr;
  void* input_ = nullptr;
  void* forecast_ = nullptr;
};

}  // namespace telltale::bench
