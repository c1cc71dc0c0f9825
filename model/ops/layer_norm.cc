#include "model/ops/layer_norm.h"

#include "model/ops/context_impl.h"

namespace telltale::model {
namespace {

using Forward = dnnl::layer_normalization_forward;
using Backward = dnnl::layer_normalization_backward;

constexpr float kEpsilon = 1e-5F;
const auto kFlags =
    dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;

Forward::primitive_desc Describe(const dnnl::engine& engine,
                                 const dnnl::memory::desc& layout) {
  return {Forward::desc(dnnl::prop_kind::forward_training, layout, kEpsilon,
                        kFlags),
          UserScratchpad(), engine};
}

}  // namespace

void LayerNorm(Context& context, const ConstMatrixView& x, const float* scale,
               const float* shift, const LayerNormState& state,
               const MatrixView& y) {
  Context::Impl& impl = context.impl();
  KeptPrimitive& kept = impl.Keep(
      {static_cast<int64_t>(Operation::kLayerNorm), x.rows, x.columns}, [&] {
        const auto layout = DenseLayout(x.rows, x.columns);
        const auto forward = Describe(impl.engine, layout);
        return std::make_unique<KeptPrimitive>(
            Forward(forward), impl.engine,
            std::vector<std::pair<int, dnnl::memory::desc>>{
                {DNNL_ARG_SRC, layout},
                {DNNL_ARG_SCALE, VectorLayout(x.columns)},
                {DNNL_ARG_SHIFT, VectorLayout(x.columns)},
                {DNNL_ARG_MEAN, forward.mean_desc()},
                {DNNL_ARG_VARIANCE, forward.variance_desc()},
                {DNNL_ARG_DST, layout}},
            forward.scratchpad_desc());
      });
  kept.Run<6>(impl.stream,
              {x.data, scale, shift, state.mean, state.variance, y.data});
}

void LayerNormBackward(Context& context, const ConstMatrixView& x,
                       const float* scale, const LayerNormState& state,
                       const ConstMatrixView& dy, const MatrixView& dx,
                       const LayerNormGradients& gradients) {
  Context::Impl& impl = context.impl();
  KeptPrimitive& kept = impl.Keep(
      {static_cast<int64_t>(Operation::kLayerNormBackward), x.rows, x.columns},
      [&] {
        const auto layout = DenseLayout(x.rows, x.columns);
        const auto forward = Describe(impl.engine, layout);
        const Backward::primitive_desc backward(
            Backward::desc(dnnl::prop_kind::backward, layout, layout, kEpsilon,
                           kFlags),
            UserScratchpad(), impl.engine, forward);
        return std::make_unique<KeptPrimitive>(
            Backward(backward), impl.engine,
            std::vector<std::pair<int, dnnl::memory::desc>>{
                {DNNL_ARG_SRC, layout},
                {DNNL_ARG_SCALE, VectorLayout(x.columns)},
                {DNNL_ARG_SHIFT, VectorLayout(x.columns)},
                {DNNL_ARG_MEAN, forward.mean_desc()},
                {DNNL_ARG_VARIANCE, forward.variance_desc()},
                {DNNL_ARG_DIFF_DST, layout},
                {DNNL_ARG_DIFF_SRC, layout},
                {DNNL_ARG_DIFF_SCALE, VectorLayout(x.columns)},
                {DNNL_ARG_DIFF_SHIFT, VectorLayout(x.columns)}},
            backward.scratchpad_desc());
      });
  // oneDNN 2.6 demands a shift here, and does not read it.
  const float* shift = scale;
  kept.Run<9>(impl.stream,
              {x.data, scale, shift, state.mean, state.variance, dy.data,
               dx.data, gradients.scale, gradients.shift});
}

}  // namespace telltale::model
