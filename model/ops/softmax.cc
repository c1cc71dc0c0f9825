#include "model/ops/softmax.h"

#include <cassert>

#include "model/ops/context_impl.h"

namespace telltale::model {
namespace {

using Forward = dnnl::softmax_v2_forward;
using Backward = dnnl::softmax_v2_backward;

constexpr auto kAccurate = dnnl::algorithm::softmax_accurate;

Forward::primitive_desc Describe(const dnnl::engine& engine,
                                 const dnnl::memory::desc& layout,
                                 dnnl::prop_kind kind) {
  return {Forward::desc(kind, kAccurate, layout, layout, /*axis=*/1),
          UserScratchpad(), engine};
}

bool IsDense(const ConstMatrixView& m) {
  return m.column_stride == 1 && m.row_stride == m.columns &&
         (m.batch == 1 || m.batch_stride == m.rows * m.columns);
}

}  // namespace

void Softmax(Context& context, const ConstMatrixView& x, const MatrixView& y) {
  assert(IsDense(x) && IsDense(y));
  const int64_t rows = x.rows * x.batch;
  Context::Impl& impl = context.impl();
  KeptPrimitive& kept = impl.Keep(
      {static_cast<int64_t>(Operation::kSoftmax), rows, x.columns}, [&] {
        const auto layout = DenseLayout(rows, x.columns);
        const auto forward =
            Describe(impl.engine, layout, dnnl::prop_kind::forward_inference);
        return std::make_unique<KeptPrimitive>(
            Forward(forward), impl.engine,
            std::vector<std::pair<int, dnnl::memory::desc>>{
                {DNNL_ARG_SRC, layout}, {DNNL_ARG_DST, layout}},
            forward.scratchpad_desc());
      });
  kept.Run<2>(impl.stream, {x.data, y.data});
}

void SoftmaxBackward(Context& context, const ConstMatrixView& y,
                     const ConstMatrixView& dy, const MatrixView& dx) {
  assert(IsDense(y) && IsDense(dy) && IsDense(dx));
  const int64_t rows = y.rows * y.batch;
  Context::Impl& impl = context.impl();
  KeptPrimitive& kept = impl.Keep(
      {static_cast<int64_t>(Operation::kSoftmaxBackward), rows, y.columns},
      [&] {
        const auto layout = DenseLayout(rows, y.columns);
        const Backward::primitive_desc backward(
            Backward::desc(kAccurate, layout, layout, layout, /*axis=*/1),
            UserScratchpad(), impl.engine,
            Describe(impl.engine, layout, dnnl::prop_kind::forward_training));
        return std::make_unique<KeptPrimitive>(
            Backward(backward), impl.engine,
            std::vector<std::pair<int, dnnl::memory::desc>>{
                {DNNL_ARG_DST, layout},
                {DNNL_ARG_DIFF_DST, layout},
                {DNNL_ARG_DIFF_SRC, layout}},
            backward.scratchpad_desc());
      });
  kept.Run<3>(impl.stream, {y.data, dy.data, dx.data});
}

}  // namespace telltale::model
