#include "tests/bench/onnx_runtime.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace telltale::bench {
namespace {

// Places in the interface's table. New releases only append to it.
constexpr int kGetErrorMessage = 2;
constexpr int kCreateEnv = 3;
constexpr int kCreateSession = 7;
constexpr int kRun = 9;
constexpr int kCreateSessionOptions = 10;
constexpr int kSetGraphOptimizationLevel = 23;
constexpr int kSetIntraOpNumThreads = 24;
constexpr int kSetInterOpNumThreads = 25;
constexpr int kCreateTensorWithData = 49;
constexpr int kCreateCpuMemoryInfo = 69;

constexpr uint32_t kInterfaceVersion = 16;
constexpr int kLogErrors = 3;
constexpr int kAllOptimizations = 99;
constexpr int kArenaAllocator = 1;
constexpr int kDefaultMemory = 0;
constexpr int kFloat = 1;

struct InterfaceBase {
  const void* const* (*get_table)(uint32_t version);
  const char* (*get_version)();
};

}  // namespace

// What the library makes lives as long as the process: it is a benchmark's.
template <typename... Arguments>
absl::Status OnnxRuntime::Call(int place, Arguments... arguments) const {
  const auto function = reinterpret_cast<void* (*)(Arguments...)>(
      const_cast<void*>(table_[place]));
  const void* error = function(arguments...);
  if (error == nullptr) return absl::OkStatus();
  const auto message = reinterpret_cast<const char* (*)(const void*)>(
      const_cast<void*>(table_[kGetErrorMessage]));
  return absl::InvalidArgumentError(
      absl::StrCat("ONNX Runtime: ", message(error)));
}

absl::StatusOr<std::unique_ptr<OnnxRuntime>> OnnxRuntime::Load(
    const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is no shared library that can be loaded"));
  }
  const auto get_base = reinterpret_cast<const InterfaceBase* (*)()>(
      dlsym(library, "OrtGetApiBase"));
  if (get_base == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " has no OrtGetApiBase: it is not ONNX Runtime"));
  }
  std::unique_ptr<OnnxRuntime> runtime(new OnnxRuntime);
  runtime->version_ = get_base()->get_version();
  runtime->table_ = get_base()->get_table(kInterfaceVersion);
  if (runtime->table_ == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("ONNX Runtime ", runtime->version_, " has no interface ",
                     kInterfaceVersion, "; release 1.16 or later is wanted"));
  }
  absl::Status status =
      runtime->Call(kCreateEnv, kLogErrors, "bench", &runtime->environment_);
  if (!status.ok()) return status;
  return runtime;
}

absl::StatusOr<std::unique_ptr<OnnxRuntime::Session>>
OnnxRuntime::Session::Open(const OnnxRuntime& runtime,
                           const std::string& model) {
  void* options = nullptr;
  absl::Status status = runtime.Call(kCreateSessionOptions, &options);
  status.Update(
      runtime.Call(kSetGraphOptimizationLevel, options, kAllOptimizations));
  status.Update(runtime.Call(kSetIntraOpNumThreads, options, 1));
  status.Update(runtime.Call(kSetInterOpNumThreads, options, 1));
  std::unique_ptr<Session> session(new Session(runtime));
  status.Update(runtime.Call(kCreateSession, runtime.environment_,
                             model.c_str(), options, &session->session_));
  if (!status.ok()) return status;
  return session;
}

absl::StatusOr<OnnxRuntime::Session::Binding> OnnxRuntime::Session::Bind(
    const std::vector<OnnxTensor>& inputs,
    const std::vector<OnnxTensor>& outputs) const {
  void* memory = nullptr;
  absl::Status status = runtime_.Call(kCreateCpuMemoryInfo, kArenaAllocator,
                                      kDefaultMemory, &memory);
  Binding binding;
  const auto bind = [&](const OnnxTensor& tensor, std::vector<void*>& values) {
    if (!status.ok()) return;
    binding.names.push_back(tensor.name);
    status = runtime_.Call(kCreateTensorWithData, memory,
                           static_cast<void*>(tensor.values.data()),
                           tensor.values.size_bytes(), tensor.shape.data(),
                           tensor.shape.size(), kFloat, &values.emplace_back());
  };
  for (const OnnxTensor& tensor : inputs) bind(tensor, binding.inputs);
  for (const OnnxTensor& tensor : outputs) bind(tensor, binding.outputs);
  if (!status.ok()) return status;
  return binding;
}

absl::Status OnnxRuntime::Session::Run(Binding& binding) {
  std::vector<const char*> names;
  for (const std::string& name : binding.names) names.push_back(name.c_str());
  const char* const* input_names = names.data();
  const char* const* output_names = input_names + binding.inputs.size();
  void* no_options = nullptr;
  return runtime_.Call(kRun, session_, no_options, input_names,
                       binding.inputs.data(), binding.inputs.size(),
                       output_names, binding.outputs.size(),
                       binding.outputs.data());
}

}  // namespace telltale::bench
