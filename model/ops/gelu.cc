#include "model/ops/gelu.h"

#include "model/ops/context_impl.h"

namespace telltale::model {
namespace {

using Forward = dnnl::eltwise_forward;
using Backward = dnnl::eltwise_backward;

constexpr auto kGeluErf = dnnl::algorithm::eltwise_gelu_erf;

Forward::primitive_desc Describe(const dnnl::engine& engine,
                                 const dnnl::memory::desc& layout) {
  return {
      Forward::desc(dnnl::prop_kind::forward_training, kGeluErf, layout, 0, 0),
      UserScratchpad(), engine};
}

}  // namespace

void Gelu(Context& context, const ConstMatrixView& x, const MatrixView& y) {
  Context::Impl& impl = context.impl();
  KeptPrimitive& kept = impl.Keep(
      {static_cast<int64_t>(Operation::kGelu), x.rows, x.columns}, [&] {
        const auto layout = DenseLayout(x.rows, x.columns);
        const auto forward = Describe(impl.engine, layout);
        return std::make_unique<KeptPrimitive>(
            Forward(forward), impl.engine,
            std::vector<std::pair<int, dnnl::memory::desc>>{
                {DNNL_ARG_SRC, layout}, {DNNL_ARG_DST, layout}},
            forward.scratchpad_desc());
      });
  kept.Run<2>(impl.stream, {x.data, y.data});
}

void GeluBackward(Context& context, const ConstMatrixView& x,
                  const ConstMatrixView& dy, const MatrixView& dx) {
  Context::Impl& impl = context.impl();
  KeptPrimitive& kept = impl.Keep(
      {static_cast<int64_t>(Operation::kGeluBackward), x.rows, x.columns}, [&] {
        const auto layout = DenseLayout(x.rows, x.columns);
        const Backward::primitive_desc backward(
            Backward::desc(kGeluErf, layout, layout, 0, 0), UserScratchpad(),
            impl.engine, Describe(impl.engine, layout));
        return std::make_unique<KeptPrimitive>(
            Backward(backward), impl.engine,
            std::vector<std::pair<int, dnnl::memory::desc>>{
                {DNNL_ARG_SRC, layout},
                {DNNL_ARG_DIFF_DST, layout},
                {DNNL_ARG_DIFF_SRC, layout}},
            backward.scratchpad_desc());
      });
  kept.Run<3>(impl.stream, {x.data, dy.data, dx.data});
}

}  // namespace telltale::model
