#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "proto/onnx/onnx.pb.h"

namespace telltale::server {

// One setting of an operation.
struct OnnxAttribute {
  std::string name;
  std::variant<int64_t, float, std::vector<int64_t>> value;
};

// Who defines ONNX Runtime's own operations.
inline constexpr std::string_view kOnnxRuntimeDomain = "com.microsoft";

// Puts an ONNX model together, operation by operation. Values are float32
// unless said otherwise and go by name.
class OnnxGraph {
 public:
  // A size of -1 is any.
  void AddInput(std::string_view name, std::span<const int64_t> shape,
                std::string_view meaning);
  // Makes `value` an output, by the name it is given here.
  void AddOutput(std::string_view value, std::string_view name,
                 std::span<const int64_t> shape, std::string_view meaning);

  // A constant; returns its name, which nothing else may have.
  // REQUIRES: the values fill the shape.
  std::string Constant(std::string_view name, std::vector<int64_t> shape,
                       std::span<const float> values);
  // Whole numbers of 64 bits, for operations that take them as an input. The
  // same numbers are one constant.
  std::string Integers(const std::vector<int64_t>& values);
  // The same without dimensions.
  std::string Integer(int64_t value);

  // An operation of one output; returns the output's name. An empty input is
  // one that the operation may do without.
  std::string Apply(std::string_view operation,
                    std::initializer_list<std::string> inputs,
                    const std::vector<OnnxAttribute>& attributes = {},
                    std::string_view domain = "");
  // The same, of any number of inputs or outputs.
  std::vector<std::string> ApplyAll(
      std::string_view operation, std::span<const std::string> inputs,
      int outputs, const std::vector<OnnxAttribute>& attributes = {},
      std::string_view domain = "");

  // The file's message; the graph is spent.
  onnx::ModelProto Finish(std::string_view name, std::string_view description);

 private:
  onnx::ModelProto model_;
  bool uses_runtime_domain_ = false;
  std::set<std::string> integers_;  // names of those that there are
};

}  // namespace telltale::server
