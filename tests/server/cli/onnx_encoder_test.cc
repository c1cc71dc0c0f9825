#include "server/cli/onnx_encoder.h"

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/layers/score_mask.h"
#include "tests/support/encoder_cases.h"

namespace telltale::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kLength = 30;  // longer than any reach of SmallConfig

// That other engines compute the same from such graphs is tested by
// tests/bench/bench.py, where they are installed.
onnx::ModelProto Export(const model::EncoderConfig& config,
                        OnnxOperations operations) {
  return *EncoderToOnnx(config, model::RandomParameters(config, 1),
                        {.length = kLength, .operations = operations});
}

std::vector<int64_t> Sizes(const onnx::ValueInfoProto& value) {
  std::vector<int64_t> sizes;
  for (const auto& dimension : value.type().tensor_type().shape().dim()) {
    sizes.push_back(dimension.dim_param().empty() ? dimension.dim_value() : -1);
  }
  return sizes;
}

std::set<std::string> Domains(const onnx::ModelProto& onnx) {
  std::set<std::string> domains;
  for (const auto& node : onnx.graph().node()) domains.insert(node.domain());
  return domains;
}

const onnx::TensorProto& Constant(const onnx::ModelProto& onnx,
                                  const std::string& name) {
  for (const auto& tensor : onnx.graph().initializer()) {
    if (tensor.name() == name) return tensor;
  }
  ADD_FAILURE() << "no constant " << name;
  return onnx::TensorProto::default_instance();
}

float At(const onnx::TensorProto& mask, int64_t head, int64_t query,
         int64_t key) {
  const int64_t index = (head * mask.dims(2) + query) * mask.dims(3) + key;
  float value = 0;
  std::memcpy(&value, mask.raw_data().data() + index * sizeof value,
              sizeof value);
  return value;
}

TEST(EncoderToOnnx, TakesWindowsAndGivesForecasts) {
  const model::EncoderConfig config = model::SmallConfig();
  const onnx::ModelProto onnx = Export(config, OnnxOperations::kStandard);

  ASSERT_EQ(onnx.graph().input_size(), 1);
  ASSERT_EQ(onnx.graph().output_size(), 1);
  EXPECT_EQ(onnx.graph().input(0).name(), "input");
  EXPECT_THAT(Sizes(onnx.graph().input(0)), ElementsAre(-1, kLength, 3));
  EXPECT_EQ(onnx.graph().output(0).name(), "forecast");
  EXPECT_THAT(Sizes(onnx.graph().output(0)), ElementsAre(-1, kLength, 6));
}

TEST(EncoderToOnnx, TellsAVerdictsColumnFromForecasts) {
  model::EncoderConfig config = model::SmallConfig();
  const auto meaning = [](const onnx::ModelProto& onnx) {
    for (const auto& value : onnx.graph().output()) {
      if (value.name() == "forecast") return value.doc_string();
    }
    return std::string();
  };
  EXPECT_THAT(meaning(Export(config, OnnxOperations::kStandard)),
              Not(HasSubstr("verdict")));
  config.verdict = true;
  EXPECT_THAT(meaning(Export(config, OnnxOperations::kStandard)),
              HasSubstr("then the verdict's logit"));
  EXPECT_THAT(
      meaning(*EncoderStepToOnnx(config, model::RandomParameters(config, 1))),
      HasSubstr("then the verdict's logit"));
}

TEST(EncoderToOnnx, UsesForeignOperationsOnlyWhenAsked) {
  const model::EncoderConfig config = model::SmallConfig();
  const onnx::ModelProto standard = Export(config, OnnxOperations::kStandard);
  const onnx::ModelProto runtime = Export(config, OnnxOperations::kRuntime);

  EXPECT_THAT(Domains(standard), ElementsAre(""));
  EXPECT_EQ(standard.opset_import_size(), 1);
  EXPECT_THAT(Domains(runtime), ElementsAre("", "com.microsoft"));
  ASSERT_EQ(runtime.opset_import_size(), 2);
  EXPECT_EQ(runtime.opset_import(1).domain(), "com.microsoft");
}

// What is wrong with the order and the names of a graph's values, by name.
std::vector<std::string> Misnamed(const onnx::GraphProto& graph) {
  std::vector<std::string> wrong;
  std::set<std::string> known = {"input", ""};
  const auto define = [&](const std::string& name) {
    if (!known.insert(name).second) wrong.push_back(name + " twice");
  };
  for (const auto& tensor : graph.initializer()) define(tensor.name());
  for (const auto& node : graph.node()) {
    for (const std::string& input : node.input()) {
      if (!known.contains(input)) wrong.push_back(input + " unknown");
    }
    for (const std::string& output : node.output()) define(output);
  }
  if (!known.contains("forecast")) wrong.emplace_back("no forecast");
  return wrong;
}

TEST(EncoderToOnnx, NamesEveryValueOnceAndBeforeItIsTaken) {
  for (const model::EncoderCase& c : model::CausalCases()) {
    SCOPED_TRACE(c.name);
    for (const auto operations :
         {OnnxOperations::kStandard, OnnxOperations::kRuntime}) {
      EXPECT_THAT(Misnamed(Export(c.config, operations).graph()), IsEmpty());
    }
  }
}

TEST(EncoderToOnnx, AddsBiasMaskAndNullLogitToScores) {
  const model::EncoderConfig config = model::SmallConfig();
  const model::Parameters parameters = model::RandomParameters(config, 1);
  const onnx::ModelProto onnx = Export(config, OnnxOperations::kStandard);
  const model::AttentionParameters& attention =
      parameters.layers()[1].attention;
  const int reach = config.layers[1].reach;  // 20; two heads blind for 5

  const onnx::TensorProto& mask = Constant(onnx, "layer.1.attention.mask");

  EXPECT_THAT(mask.dims(), ElementsAre(1, 4, kLength, kLength + 1));
  EXPECT_EQ(At(mask, 3, 10, 8), attention.distance_bias[3 * reach + 2]);
  EXPECT_EQ(At(mask, 0, 10, 8), model::kMasked);
  EXPECT_EQ(At(mask, 0, 10, 5), attention.distance_bias[5]);
  EXPECT_EQ(At(mask, 3, 25, 6), attention.distance_bias[3 * reach + 19]);
  EXPECT_EQ(At(mask, 3, 25, 5), model::kMasked);
  EXPECT_EQ(At(mask, 3, 10, 11), model::kMasked);
  EXPECT_EQ(At(mask, 2, 0, kLength), attention.null_logit[2]);
}

TEST(EncoderToOnnx, LeavesAttendingToNothingOutWhereItCannotBe) {
  const onnx::ModelProto onnx =
      Export(model::TextbookConfig(), OnnxOperations::kStandard);

  EXPECT_THAT(Constant(onnx, "layer.0.attention.mask").dims(),
              ElementsAre(1, 1, kLength, kLength));
}

TEST(EncoderStepToOnnx, HandsKeysAndValuesOn) {
  const model::EncoderConfig config = model::SmallConfig();
  const onnx::ModelProto onnx =
      *EncoderStepToOnnx(config, model::RandomParameters(config, 1));

  std::map<std::string, std::vector<int64_t>> inputs, outputs;
  for (const auto& value : onnx.graph().input()) {
    inputs[value.name()] = Sizes(value);
  }
  for (const auto& value : onnx.graph().output()) {
    outputs[value.name()] = Sizes(value);
  }

  EXPECT_THAT(inputs["input"], ElementsAre(-1, 9));  // three taps of three
  EXPECT_THAT(inputs["cosine"], ElementsAre(-1, 1, 1, 4));
  EXPECT_THAT(inputs["layer.1.past_key"], ElementsAre(-1, 4, 19, 8));
  EXPECT_EQ(inputs["layer.1.past_key"], outputs["layer.1.key"]);
  EXPECT_EQ(inputs["layer.0.past_value"], outputs["layer.0.value"]);
  EXPECT_THAT(outputs["forecast"], ElementsAre(-1, 6));
  EXPECT_EQ(inputs.size(), 7U);
  EXPECT_EQ(outputs.size(), 5U);
}

TEST(EncoderStepToOnnx, AddsTheBiasOfEachDistanceTheOldestFirst) {
  const model::EncoderConfig config = model::SmallConfig();
  const model::Parameters parameters = model::RandomParameters(config, 1);
  const onnx::ModelProto onnx = *EncoderStepToOnnx(config, parameters);
  // Twenty distances a head.
  const float* bias = parameters.layers()[1].attention.distance_bias;

  const onnx::TensorProto& mask = Constant(onnx, "layer.1.attention.mask");

  EXPECT_THAT(mask.dims(), ElementsAre(1, 4, 1, 21));
  EXPECT_EQ(At(mask, 3, 0, 0), bias[79]);
  EXPECT_EQ(At(mask, 3, 0, 19), bias[60]);
  EXPECT_EQ(At(mask, 0, 0, 14), bias[5]);
  EXPECT_EQ(At(mask, 0, 0, 15), model::kMasked);  // blind
}

TEST(EncoderStepToOnnx, RefusesLayersWithoutAPast) {
  model::EncoderConfig config = model::SmallConfig();
  config.layers[0].reach = 1;

  const auto onnx =
      EncoderStepToOnnx(config, model::RandomParameters(config, 1));

  EXPECT_EQ(onnx.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(onnx.status().message()), HasSubstr("2 or more"));
}

TEST(EncoderToOnnx, RefusesWhatItCannotExport) {
  const auto refusal = [](const model::EncoderConfig& config, int length) {
    const auto onnx = EncoderToOnnx(config, model::RandomParameters(config, 1),
                                    {.length = length});
    EXPECT_EQ(onnx.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(onnx.status().message());
  };
  model::EncoderConfig unmasked = model::SmallConfig();
  unmasked.causal = false;

  EXPECT_THAT(refusal(model::SmallConfig(), 0), HasSubstr("1 or more"));
  EXPECT_THAT(refusal(model::SmallConfig(), 100'000),
              HasSubstr("export a shorter one"));
  EXPECT_THAT(refusal(unmasked, 10), HasSubstr("only causal"));
}

}  // namespace
}  // namespace telltale::server
