#include "server/cli/onnx_graph.h"

#include <bit>

#include "absl/strings/str_cat.h"

namespace telltale::server {
namespace {

// Where GELU is an operation (20), and the version of the format that goes
// with it.
constexpr int64_t kOperatorSet = 20;
constexpr int64_t kFormatVersion = 9;

// Elements go into the file as they lie in memory.
static_assert(std::endian::native == std::endian::little);

void Describe(std::string_view name, std::span<const int64_t> shape,
              std::string_view meaning, onnx::ValueInfoProto& value) {
  value.set_name(std::string(name));
  value.set_doc_string(std::string(meaning));
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx::TensorProto::FLOAT);
  for (const int64_t size : shape) {
    auto& dimension = *tensor.mutable_shape()->add_dim();
    if (size < 0) {
      dimension.set_dim_param("batch");
    } else {
      dimension.set_dim_value(size);
    }
  }
}

void Set(const OnnxAttribute& attribute, onnx::AttributeProto& proto) {
  proto.set_name(attribute.name);
  if (const auto* i = std::get_if<int64_t>(&attribute.value)) {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(*i);
  } else if (const auto* f = std::get_if<float>(&attribute.value)) {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(*f);
  } else {
    const auto& ints = std::get<std::vector<int64_t>>(attribute.value);
    proto.set_type(onnx::AttributeProto::INTS);
    proto.mutable_ints()->Add(ints.begin(), ints.end());
  }
}

template <typename T>
void Store(const std::string& name, std::span<const int64_t> shape,
           std::span<const T> values, int type, onnx::TensorProto& tensor) {
  tensor.set_name(name);
  tensor.set_data_type(type);
  tensor.mutable_dims()->Add(shape.begin(), shape.end());
  tensor.set_raw_data(values.data(), values.size_bytes());
}

}  // namespace

void OnnxGraph::AddInput(std::string_view name, std::span<const int64_t> shape,
                         std::string_view meaning) {
  Describe(name, shape, meaning, *model_.mutable_graph()->add_input());
}

void OnnxGraph::AddOutput(std::string_view value, std::string_view name,
                          std::span<const int64_t> shape,
                          std::string_view meaning) {
  onnx::NodeProto& node = *model_.mutable_graph()->add_node();
  node.set_op_type("Identity");
  node.set_name(absl::StrCat("output_", std::string(name)));
  node.add_input(std::string(value));
  node.add_output(std::string(name));
  Describe(name, shape, meaning, *model_.mutable_graph()->add_output());
}

std::string OnnxGraph::Constant(std::string_view name,
                                std::vector<int64_t> shape,
                                std::span<const float> values) {
  Store(std::string(name), shape, values, onnx::TensorProto::FLOAT,
        *model_.mutable_graph()->add_initializer());
  return std::string(name);
}

std::string OnnxGraph::Integers(const std::vector<int64_t>& values) {
  std::string name = "integers";
  for (const int64_t value : values) absl::StrAppend(&name, "_", value);
  if (integers_.insert(name).second) {
    const int64_t shape[] = {static_cast<int64_t>(values.size())};
    Store<int64_t>(name, shape, values, onnx::TensorProto::INT64,
                   *model_.mutable_graph()->add_initializer());
  }
  return name;
}

std::string OnnxGraph::Integer(int64_t value) {
  std::string name = absl::StrCat("integer_", value);
  if (integers_.insert(name).second) {
    Store<int64_t>(name, {}, {&value, 1}, onnx::TensorProto::INT64,
                   *model_.mutable_graph()->add_initializer());
  }
  return name;
}

std::string OnnxGraph::Apply(std::string_view operation,
                             std::initializer_list<std::string> inputs,
                             const std::vector<OnnxAttribute>& attributes,
                             std::string_view domain) {
  return ApplyAll(operation, std::span(inputs.begin(), inputs.size()), 1,
                  attributes, domain)
      .front();
}

std::vector<std::string> OnnxGraph::ApplyAll(
    std::string_view operation, std::span<const std::string> inputs,
    int outputs, const std::vector<OnnxAttribute>& attributes,
    std::string_view domain) {
  onnx::NodeProto& node = *model_.mutable_graph()->add_node();
  const std::string name =
      absl::StrCat(std::string(operation), "_", model_.graph().node_size());
  node.set_name(name);
  node.set_op_type(std::string(operation));
  node.set_domain(std::string(domain));
  uses_runtime_domain_ |= domain == kOnnxRuntimeDomain;
  for (const std::string& input : inputs) node.add_input(input);
  std::vector<std::string> names;
  for (int i = 0; i < outputs; ++i) {
    names.push_back(absl::StrCat(name, "_", i));
    node.add_output(names.back());
  }
  for (const OnnxAttribute& attribute : attributes) {
    Set(attribute, *node.add_attribute());
  }
  return names;
}

onnx::ModelProto OnnxGraph::Finish(std::string_view name,
                                   std::string_view description) {
  model_.set_ir_version(kFormatVersion);
  model_.set_producer_name("telltale");
  model_.mutable_graph()->set_name(std::string(name));
  model_.mutable_graph()->set_doc_string(std::string(description));
  model_.add_opset_import()->set_version(kOperatorSet);
  if (uses_runtime_domain_) {
    onnx::OperatorSetIdProto& set = *model_.add_opset_import();
    set.set_domain(std::string(kOnnxRuntimeDomain));
    set.set_version(1);
  }
  return std::move(model_);
}

}  // namespace telltale::server
