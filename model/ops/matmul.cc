#include "model/ops/matmul.h"

#include <bit>
#include <cassert>

#include "model/ops/context_impl.h"

namespace telltale::model {
namespace {

dnnl::memory::desc Layout(const ConstMatrixView& m) {
  const auto f32 = dnnl::memory::data_type::f32;
  if (m.batch == 1) {
    return {dnnl::memory::dims{m.rows, m.columns}, f32,
            dnnl::memory::dims{m.row_stride, m.column_stride}};
  }
  return {dnnl::memory::dims{m.batch, m.rows, m.columns}, f32,
          dnnl::memory::dims{m.batch_stride, m.row_stride, m.column_stride}};
}

// One row for all rows of all matrices of c.
dnnl::memory::desc BiasLayout(const ConstMatrixView& c) {
  if (c.batch == 1) return DenseLayout(1, c.columns);
  return {dnnl::memory::dims{1, 1, c.columns}, dnnl::memory::data_type::f32,
          dnnl::memory::dims{c.columns, c.columns, 1}};
}

std::unique_ptr<KeptPrimitive> Build(const dnnl::engine& engine,
                                     const ConstMatrixView& a,
                                     const ConstMatrixView& b,
                                     const ConstMatrixView& c,
                                     const MatMulOptions& options) {
  dnnl::primitive_attr attributes = UserScratchpad();
  if (options.scale != 1) attributes.set_output_scales(0, {options.scale});
  if (options.accumulate) {
    dnnl::post_ops post_ops;
    post_ops.append_sum(1.0F);
    attributes.set_post_ops(post_ops);
  }
  std::vector<std::pair<int, dnnl::memory::desc>> arguments = {
      {DNNL_ARG_SRC, Layout(a)},
      {DNNL_ARG_WEIGHTS, Layout(b)},
      {DNNL_ARG_DST, Layout(c)}};
  dnnl::matmul::desc description(arguments[0].second, arguments[1].second,
                                 arguments[2].second);
  if (options.bias != nullptr) {
    arguments.emplace_back(DNNL_ARG_BIAS, BiasLayout(c));
    description = dnnl::matmul::desc(arguments[0].second, arguments[1].second,
                                     arguments[3].second, arguments[2].second);
  }
  const dnnl::matmul::primitive_desc matmul(description, attributes, engine);
  return std::make_unique<KeptPrimitive>(dnnl::matmul(matmul), engine,
                                         arguments, matmul.scratchpad_desc());
}

}  // namespace

void MatMul(Context& context, const ConstMatrixView& a,
            const ConstMatrixView& b, const MatrixView& c,
            const MatMulOptions& options) {
  assert(a.columns == b.rows && c.rows == a.rows && c.columns == b.columns);
  assert(a.batch == b.batch && a.batch == c.batch);
  const PrimitiveKey key = {static_cast<int64_t>(Operation::kMatMul),
                            a.rows,
                            a.columns,
                            b.columns,
                            a.batch,
                            a.batch_stride,
                            a.row_stride,
                            a.column_stride,
                            b.batch_stride,
                            b.row_stride,
                            b.column_stride,
                            c.batch_stride,
                            c.row_stride,
                            c.column_stride,
                            std::bit_cast<int32_t>(options.scale),
                            options.accumulate ? 1 : 0,
                            options.bias != nullptr ? 1 : 0};
  Context::Impl& impl = context.impl();
  KeptPrimitive& kept =
      impl.Keep(key, [&] { return Build(impl.engine, a, b, c, options); });
  if (options.bias != nullptr) {
    kept.Run<4>(impl.stream, {a.data, b.data, c.data, options.bias});
  } else {
    kept.Run<3>(impl.stream, {a.data, b.data, c.data});
  }
}

}  // namespace telltale::model
