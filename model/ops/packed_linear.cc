#include "model/ops/packed_linear.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "model/ops/context_impl.h"

namespace telltale::model {
namespace {

// Rows are computed in pieces of so many, the largest that fits first: few
// enough sizes to keep a primitive for each, and pieces that stay in cache.
constexpr int64_t kPieces[] = {64, 32, 16, 8, 4, 2, 1};
constexpr int64_t kTile = 16;

dnnl::memory::data_type Type(Precision precision) {
  return precision == Precision::kFloat32 ? dnnl::memory::data_type::f32
                                          : dnnl::memory::data_type::bf16;
}

// What a primitive was made for.
struct Shape {
  int64_t rows = 0;
  Precision y_precision = Precision::kFloat32;

  friend bool operator==(const Shape&, const Shape&) = default;
};

// Rows to be written.
struct Output {
  std::byte* data = nullptr;
  int64_t row_bytes = 0;
  Precision precision = Precision::kFloat32;
};

int64_t Bytes(Precision precision) {
  return precision == Precision::kFloat32 ? 4 : 2;
}

}  // namespace

struct PackedLinear::Impl {
  explicit Impl(Context::Impl& shared) : context(shared) {}

  dnnl::matmul::primitive_desc Describe(const Shape& shape,
                                        const dnnl::memory::desc& layout) const;
  void Pack(std::span<const LinearParameters> layers);
  KeptPrimitive& Keep(const Shape& shape);
  void Run(const Operand& x, const Output& y);

  Context::Impl& context;
  Precision precision = Precision::kFloat32;
  PackedLinearOptions options;
  int64_t inputs = 0, outputs = 0;
  int64_t row_multiple = 1;
  dnnl::memory weights, bias;
  std::vector<std::pair<Shape, KeptPrimitive>> primitives;
};

dnnl::matmul::primitive_desc PackedLinear::Impl::Describe(
    const Shape& shape, const dnnl::memory::desc& layout) const {
  dnnl::primitive_attr attributes = UserScratchpad();
  dnnl::post_ops post_ops;
  if (options.accumulate) post_ops.append_sum(1.0F);
  if (options.gelu) {
    post_ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_gelu_erf, 0, 0);
  }
  attributes.set_post_ops(post_ops);
  // Dense: oneDNN leaves rows with gaps to its reference code.
  const dnnl::memory::desc x({shape.rows, inputs}, Type(precision),
                             dnnl::memory::dims{inputs, 1});
  const dnnl::memory::desc y({shape.rows, outputs}, Type(shape.y_precision),
                             dnnl::memory::dims{outputs, 1});
  return {dnnl::matmul::desc(x, layout, DenseLayout(1, outputs), y), attributes,
          context.engine};
}

void PackedLinear::Impl::Pack(std::span<const LinearParameters> layers) {
  Matrix all(inputs, outputs);
  Matrix all_bias(1, outputs);
  int64_t column = 0;
  for (const LinearParameters& layer : layers) {
    const ConstMatrixView weight =
        View(static_cast<const float*>(layer.weight), inputs, layer.outputs);
    for (int64_t row = 0; row < inputs; ++row) {
      std::copy_n(weight.Row(row), layer.outputs, all.Row(row) + column);
    }
    float* const to = all_bias.data() + column;
    if (layer.bias == nullptr) {
      std::fill_n(to, layer.outputs, 0.0F);
    } else {
      std::copy_n(layer.bias, layer.outputs, to);
    }
    column += layer.outputs;
  }
  const auto any = dnnl::memory::desc({inputs, outputs}, Type(precision),
                                      dnnl::memory::format_tag::any);
  const auto matmul = Describe({kTile}, any);
  // Its block products sum each row alike, whatever the count of rows.
  const bool alike =
      std::string_view(matmul.impl_info_str()).starts_with("brg");
  row_multiple = alike ? 1 : kTile;
  weights = dnnl::memory(matmul.weights_desc(), context.engine);
  bias = dnnl::memory(DenseLayout(1, outputs), context.engine);
  dnnl::memory plain(DenseLayout(inputs, outputs), context.engine, all.data());
  dnnl::reorder(plain, weights).execute(context.stream, plain, weights);
  context.stream.wait();
  std::copy_n(all_bias.data(), outputs,
              static_cast<float*>(bias.get_data_handle()));
}

KeptPrimitive& PackedLinear::Impl::Keep(const Shape& shape) {
  for (auto& [made_for, primitive] : primitives) {
    if (made_for == shape) return primitive;
  }
  const auto matmul = Describe(shape, weights.get_desc());
  ++context.packed_count;
  primitives.emplace_back(
      shape,
      KeptPrimitive(dnnl::matmul(matmul), context.engine,
                    {{DNNL_ARG_SRC, matmul.src_desc()},
                     {DNNL_ARG_DST, matmul.dst_desc()}},
                    matmul.scratchpad_desc(),
                    {{DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_BIAS, bias}}));
  return primitives.back().second;
}

void PackedLinear::Impl::Run(const Operand& x, const Output& y) {
  assert(x.precision() == precision && x.columns() == inputs);
  assert(x.row_stride() == inputs);
  assert(x.rows() % row_multiple == 0);
  int64_t row = 0;
  for (const int64_t piece : kPieces) {
    if (row_multiple > 1 && piece != row_multiple) continue;
    for (; row + piece <= x.rows(); row += piece) {
      Keep({piece, y.precision})
          .Run<2>(context.stream, {x.Row(row), y.data + row * y.row_bytes});
    }
  }
}

PackedLinear::PackedLinear(Context& context,
                           std::span<const LinearParameters> layers,
                           Precision precision,
                           const PackedLinearOptions& options)
    : impl_(std::make_unique<Impl>(context.impl())) {
  impl_->precision = precision;
  impl_->options = options;
  impl_->inputs = layers.front().inputs;
  for (const LinearParameters& layer : layers) impl_->outputs += layer.outputs;
  impl_->Pack(layers);
}

PackedLinear::~PackedLinear() = default;
PackedLinear::PackedLinear(PackedLinear&&) noexcept = default;

int64_t PackedLinear::row_multiple() const { return impl_->row_multiple; }
int64_t PackedLinear::outputs() const { return impl_->outputs; }

void PackedLinear::Run(const Operand& x, const MatrixView& y) {
  assert(y.rows == x.rows() && y.columns == impl_->outputs);
  assert(y.row_stride == y.columns);
  impl_->Run(
      x, {reinterpret_cast<std::byte*>(y.data),
          impl_->outputs * Bytes(Precision::kFloat32), Precision::kFloat32});
}

void PackedLinear::Run(const Operand& x, Operand& y) {
  assert(!impl_->options.accumulate);
  y.Resize(x.rows(), impl_->outputs);
  impl_->Run(x, {static_cast<std::byte*>(y.MutableRow(0)),
                 impl_->outputs * Bytes(y.precision()), y.precision()});
}

}  // namespace telltale::model
