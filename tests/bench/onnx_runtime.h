#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace telltale::bench {

// A buffer that a graph reads or writes, and its name in the graph.
struct OnnxTensor {
  std::string name;
  std::span<float> values;
  std::vector<int64_t> shape;
};

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
  // Buffers of inputs and outputs, bound once for many runs.
  struct Binding {
    std::vector<std::string> names;  // inputs, then outputs
    std::vector<void*> inputs, outputs;
  };

  // `runtime` must outlive it. kInvalidArgument: what the library says of the
  // model.
  static absl::StatusOr<std::unique_ptr<Session>> Open(
      const OnnxRuntime& runtime, const std::string& model);

  // Views the tensors' buffers, which must outlive the binding.
  absl::StatusOr<Binding> Bind(const std::vector<OnnxTensor>& inputs,
                               const std::vector<OnnxTensor>& outputs) const;
  absl::Status Run(Binding& binding);

 private:
  explicit Session(const OnnxRuntime& runtime) : runtime_(runtime) {}

  const OnnxRuntime& runtime_;
  void* session_ = nullptr;
};

}  // namespace telltale::bench
