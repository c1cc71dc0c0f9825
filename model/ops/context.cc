#include "model/ops/context.h"

#include <omp.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <utility>

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

Context::Context() : impl_(std::make_unique<Impl>()) { PrepareThread(); }

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
