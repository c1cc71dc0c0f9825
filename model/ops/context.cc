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
    const dnnl::memory::desc& scratchpad)
    : primitive_(std::move(primitive)) {
  for (const auto& [number, layout] : arguments) {
    memories_.emplace_back(layout, engine, nullptr);
    arguments_.emplace(number, memories_.back());
  }
  if (scratchpad.get_size() > 0) {
    arguments_.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(scratchpad, engine));
  }
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
  return static_cast<int>(impl_->primitives.size());
}

}  // namespace telltale::model
