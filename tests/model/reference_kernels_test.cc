#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "model/encoder.h"
#include "model/stream_encoder.h"
#include "tests/support/encoder_cases.h"
#include "tests/support/stream.h"

namespace telltale::model {
namespace {

using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;

// What oneDNN reports of a run: "softmax_v2 backward_data ref:any" and such.
struct Kernels {
  std::string instruction_set;
  std::set<std::string> operations;
  std::set<std::string> references;  // operations done by reference code
};

// Runs one of the disabled tests below in a process of its own, whose oneDNN
// reports every primitive that it executes.
Kernels Observe(const std::string& test) {
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command =
      "ONEDNN_VERBOSE=2 '" + program +
      "' --gtest_also_run_disabled_tests --gtest_filter='*." + test + "'";
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer;
  while (const size_t size = fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.append(buffer.data(), size);
  }
  EXPECT_EQ(pclose(pipe), 0) << output;

  Kernels kernels;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    const std::vector<std::string> fields = absl::StrSplit(line, ',');
    if (fields.size() > 3 && fields[1] == "info" &&
        absl::StartsWith(fields[3], "isa:")) {
      kernels.instruction_set = fields[3].substr(4);
    }
    if (fields.size() < 6 || fields[1] != "exec") continue;
    const std::string operation = fields[3] + " " + fields[5];
    kernels.operations.insert(operation);
    if (absl::StartsWith(fields[4], "ref")) {
      kernels.references.insert(operation);
    }
  }
  return kernels;
}

TEST(ReferenceKernelsTest, NoneServes) {
  const Kernels kernels = Observe("DISABLED_ServesAStream");
  EXPECT_THAT(
      kernels.operations,
      IsSupersetOf({"matmul undef", "layer_normalization forward_training",
                    "eltwise forward_training"}));
  EXPECT_THAT(kernels.references, IsEmpty()) << kernels.instruction_set;
}

TEST(ReferenceKernelsTest, NoneTrainsSaveOneKnownOnAvx2) {
  const Kernels kernels = Observe("DISABLED_TrainsOnASeries");
  EXPECT_THAT(
      kernels.operations,
      IsSupersetOf({"matmul undef", "softmax_v2 backward_data",
                    "layer_normalization backward", "eltwise backward_data"}));
  if (absl::StrContains(kernels.instruction_set, "AVX-512")) {
    EXPECT_THAT(kernels.references, IsEmpty());
  } else {
    // oneDNN 2.6 has no softmax gradient of its own below AVX-512: training is
    // slower there, with the same results. When this fails because the set is
    // empty, the limitation is gone.
    EXPECT_THAT(kernels.references,
                UnorderedElementsAre("softmax_v2 backward_data"))
        << kernels.instruction_set;
  }
}

// What the two tests above watch.

TEST(WatchedTest, DISABLED_ServesAStream) {
  Context context;
  const EncoderConfig config = ShippedConfig();
  const Parameters parameters = RandomParameters(config, 1);
  StreamEncoder encoder(context, config, parameters);
  const Matrix x = RandomMatrix(40, config.input_width, 2);
  const std::vector<double> positions = Positions(40, false);
  Stream stream(config, x, positions);
  AdvanceTo(encoder, stream, {16, 1});
  std::vector<float> readout;
  encoder.Explain(stream.cache(), 39, 0, readout);
  EXPECT_FALSE(readout.empty());
}

TEST(WatchedTest, DISABLED_TrainsOnASeries) {
  Context context;
  const EncoderConfig config = ShippedConfig();
  const Parameters parameters = RandomParameters(config, 1);
  Parameters gradients(config, 0);
  const Encoder encoder(config, parameters);
  const Matrix x = RandomMatrix(400, config.input_width, 2);
  const Matrix dforecast = RandomMatrix(400, config.forecast_width(), 3);
  Matrix dx(400, config.input_width);
  EncoderActivations activations;
  encoder.Forward(context, x.view(), Positions(400, false), activations);
  encoder.Backward(context, activations, dforecast.view(), gradients,
                   dx.view());
  EXPECT_NE(dx.data()[0], 0);
}

}  // namespace
}  // namespace telltale::model
