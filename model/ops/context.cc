#include "model/ops/context.h"

#include <omp.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <mutex>
#include <utility>

#include "hwy/targets.h"

#include "model/ops/context_impl.h"

namespace telltale::model {

KeptPrimitive::KeptPrimitive(
    dnnl::primitive primitive, const dnnl::engine& engine,
    const std::vector<std::pair<int, dnnl::memory::desc>>& arguments,
    const dnnl::memory::desc& scratchpad,
    const std::vector<std::pair<int, dnnl::memory>>& constants)
    : primitive_(std::move(primitive)) {
  std::vector<int> numbers;
  for (const auto& [number, layout] : arguments) {
    memories_.emplace_back(layout, engine, nullptr);
    numbers.push_back(number);
  }
  for (const auto& [number, memory] : constants) {
    memories_.push_back(memory);
    numbers.push_back(number);
  }
  if (scratchpad.get_size() > 0) {
    memories_.emplace_back(scratchpad, engine);
    numbers.push_back(DNNL_ARG_SCRATCHPAD);
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    arguments_.push_back({numbers[i], memories_[i].get()});
  }
}

void KeptPrimitive::Execute(dnnl::stream& stream) {
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive_.get(), stream.get(),
                             static_cast<int>(arguments_.size()),
                             arguments_.data()),
      "could not execute a primitive");
  stream.wait();
}

namespace {

// What oneDNN may not use (ONEDNN_MAX_CPU_ISA), our own kernels do not use
// either, so that one setting tells how a result came about.
void FollowOneDnn() {
#if HWY_ARCH_X86
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto lacks = [&](dnnl::cpu_isa wanted) {
    const auto bits = static_cast<unsigned>(wanted);
    return (isa & bits) != bits;
  };
  // Lower bits are better instruction sets.
  if (lacks(dnnl::cpu_isa::avx2)) {
    hwy::DisableTargets((HWY_AVX2 << 1) - 1);
  } else if (lacks(dnnl::cpu_isa::avx512_core)) {
    hwy::DisableTargets(HWY_AVX2 - 1);
  }
#endif
}

}  // namespace

Context::Context() : impl_(std::make_unique<Impl>()) {
  static std::once_flag once;
  std::call_once(once, FollowOneDnn);
  PrepareThread();
}

void Context::PrepareThread() {
  omp_set_num_threads(1);
#if defined(__SSE2__)
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  _mm_setcsr(_mm_getcsr() | 0x0040U);  // denormals are zero
#endif
}

Context::~Context() = default;

int Context::primitive_count() const {
  return static_cast<int>(impl_->primitives.size()) + impl_->packed_count;
}

}  // namespace telltale::model
