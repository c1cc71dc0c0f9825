#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "oneapi/dnnl/dnnl.hpp"

#include "model/ops/context.h"

namespace telltale::model {

// A primitive with the memory objects of its arguments; running it only sets
// their pointers.
class KeptPrimitive {
 public:
  // `arguments` are oneDNN's argument numbers with their layouts, in the order
  // in which Run takes the pointers; `constants` stay what they are.
  KeptPrimitive(
      dnnl::primitive primitive, const dnnl::engine& engine,
      const std::vector<std::pair<int, dnnl::memory::desc>>& arguments,
      const dnnl::memory::desc& scratchpad,
      const std::vector<std::pair<int, dnnl::memory>>& constants = {});

  // oneDNN reads through the pointers given for inputs, and writes the others.
  template <size_t kCount>
  void Run(dnnl::stream& stream, const std::array<const void*, kCount>& data) {
    for (size_t i = 0; i < kCount; ++i) {
      memories_[i].set_data_handle(const_cast<void*>(data[i]));
    }
    Execute(stream);
  }

 private:
  void Execute(dnnl::stream& stream);

  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  // As oneDNN's C interface takes them; the C++ one copies them every time.
  std::vector<dnnl_exec_arg_t> arguments_;
};

// What tells one primitive from another: the operation, shapes and strides.
using PrimitiveKey = std::array<int64_t, 20>;

struct Context::Impl {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  absl::flat_hash_map<PrimitiveKey, std::unique_ptr<KeptPrimitive>> primitives;
  int packed_count = 0;  // kept beside their packed weights

  // The primitive kept under `key`, made by `build()` the first time.
  template <typename Build>
  KeptPrimitive& Keep(const PrimitiveKey& key, const Build& build) {
    auto& kept = primitives[key];
    if (kept == nullptr) kept = build();
    return *kept;
  }
};

// The first entry of a key.
enum class Operation : int64_t {
  kMatMul,
  kSoftmax,
  kSoftmaxBackward,
  kLayerNorm,
  kLayerNormBackward,
  kGelu,
  kGeluBackward,
};

// Every primitive uses memory that its KeptPrimitive owns as scratchpad.
inline dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// A row-major [rows, columns] layout without gaps.
inline dnnl::memory::desc DenseLayout(int64_t rows, int64_t columns) {
  return {dnnl::memory::dims{rows, columns}, dnnl::memory::data_type::f32,
          dnnl::memory::dims{columns, 1}};
}

inline dnnl::memory::desc VectorLayout(int64_t size) {
  return {dnnl::memory::dims{size}, dnnl::memory::data_type::f32,
          dnnl::memory::dims{1}};
}

}  // namespace telltale::model
