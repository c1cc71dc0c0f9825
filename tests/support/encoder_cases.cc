#include "tests/support/encoder_cases.h"

#include "model/random.h"

namespace telltale::model {

EncoderConfig TextbookConfig() {
  EncoderConfig config;
  config.input_width = 3;
  config.width = 16;
  config.heads = 4;
  config.query_width = 4;
  config.value_width = 4;
  config.feed_forward = 24;
  config.stem_taps = 1;
  config.stem_hidden = 0;
  config.rotary = false;
  config.distance_bias = false;
  config.null_logit = false;
  config.layers = {{.reach = 128}, {.reach = 128}};
  config.horizons = {1, 2};
  config.targets = 2;
  return config;
}

EncoderConfig SmallConfig() {
  EncoderConfig config;
  config.input_width = 3;
  config.width = 16;
  config.heads = 4;
  config.query_width = 8;
  config.value_width = 4;
  config.feed_forward = 24;
  config.stem_taps = 3;
  config.stem_hidden = 12;
  config.layers = {{.key_source = KeySource::kLayer, .reach = 6},
                   {.key_source = KeySource::kStem,
                    .reach = 20,
                    .blind_heads = 2,
                    .blind_span = 5}};
  config.horizons = {1, 4};
  config.targets = 3;
  return config;
}

EncoderConfig ShippedConfig() {
  EncoderConfig config;
  config.input_width = 6;
  config.targets = 3;
  return config;
}

std::vector<EncoderCase> EncoderCases() {
  EncoderConfig rotary = TextbookConfig();
  rotary.rotary = true;
  EncoderConfig unmasked = TextbookConfig();
  unmasked.causal = false;
  EncoderConfig unmasked_bias = SmallConfig();
  unmasked_bias.causal = false;
  EncoderConfig verdict = SmallConfig();
  verdict.verdict = true;
  return {
      {"Textbook", TextbookConfig()},
      {"TextbookRotary", rotary},
      {"TextbookRotaryIrregular", rotary, true},
      {"TextbookUnmasked", unmasked},
      {"Small", SmallConfig()},
      {"SmallIrregular", SmallConfig(), true},
      {"SmallUnmasked", unmasked_bias, true},
      {"SmallVerdict", verdict, true},
  };
}

std::vector<EncoderCase> CausalCases() {
  std::vector<EncoderCase> cases = EncoderCases();
  std::erase_if(cases, [](const EncoderCase& c) { return !c.config.causal; });
  return cases;
}

Parameters RandomParameters(const EncoderConfig& config, uint64_t seed) {
  Parameters parameters(config, /*stand_ins=*/0);
  parameters.Initialize(seed);
  Random random(seed + 1);
  for (const NamedTensor& tensor : parameters.tensors()) {
    const bool is_query = tensor.name.ends_with("query.weight");
    const bool is_bias_table = tensor.name.ends_with("distance_bias");
    for (float& value : parameters.Tensor(tensor)) {
      // Wide queries make attention uneven, and its gradients large.
      if (is_query) value *= 2;
      const double deviation = is_bias_table ? 1 : tensor.decays ? 0 : 0.2;
      value += static_cast<float>(deviation * random.Normal());
    }
  }
  return parameters;
}

Matrix RandomMatrix(int64_t rows, int64_t columns, uint64_t seed) {
  Matrix matrix(rows, columns);
  Random random(seed);
  for (float& value : matrix.floats()) {
    value = static_cast<float>(random.Normal());
  }
  return matrix;
}

std::vector<double> Positions(int64_t count, bool irregular, double first) {
  Random random(77);
  std::vector<double> positions(static_cast<size_t>(count));
  double position = first;
  for (double& entry : positions) {
    entry = position;
    position += 1;
    if (!irregular) continue;
    position += 0.3 * (random.Uniform() - 0.5);
    if (random.Below(12) == 0) position += static_cast<double>(random.Below(9));
  }
  return positions;
}

}  // namespace telltale::model
