#include "model/parameters.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_format.h"

#include "model/random.h"

namespace telltale::model {

class Parameters::Layout {
 public:
  Layout(float* base, std::vector<NamedTensor>* tensors)
      : base_(base), tensors_(tensors) {}

  float* Add(std::string name, std::vector<int64_t> shape,
             bool decays = false) {
    size_t size = 1;
    for (int64_t extent : shape) size *= static_cast<size_t>(extent);
    const size_t offset = size_;
    // Every tensor starts on a cache line.
    size_ += (size + 15) / 16 * 16;
    if (base_ == nullptr) return nullptr;
    tensors_->push_back(
        {std::move(name), std::move(shape), offset, size, decays});
    return base_ + offset;
  }

  LinearParameters AddLinear(const std::string& name, int inputs, int outputs,
                             bool bias = true) {
    LinearParameters linear{.inputs = inputs, .outputs = outputs};
    linear.weight = Add(name + ".weight", {inputs, outputs}, true);
    if (bias) linear.bias = Add(name + ".bias", {outputs});
    return linear;
  }

  NormParameters AddNorm(const std::string& name, int width) {
    NormParameters norm;
    norm.scale = Add(name + ".scale", {width});
    norm.shift = Add(name + ".shift", {width});
    return norm;
  }

  size_t size() const { return size_; }

 private:
  float* base_;
  std::vector<NamedTensor>* tensors_;
  size_t size_ = 0;
};

Parameters::Parameters(const EncoderConfig& config, int stand_ins) {
  Layout measure(nullptr, nullptr);
  Place(measure, config, stand_ins);
  values_.assign(measure.size(), 0.0F);
  Layout layout(values_.data(), &tensors_);
  Place(layout, config, stand_ins);
}

void Parameters::Place(Layout& layout, const EncoderConfig& config,
                       int stand_ins) {
  const int d = config.width;
  const int taps = config.stem_taps * config.input_width;
  stand_in_ =
      stand_ins > 0 ? layout.Add("input.stand_in", {stand_ins}) : nullptr;
  stem_.linear = layout.AddLinear("stem.linear", taps, d);
  if (config.stem_hidden > 0) {
    stem_.hidden = layout.AddLinear("stem.hidden", taps, config.stem_hidden);
    stem_.output =
        layout.AddLinear("stem.output", config.stem_hidden, d, false);
  }

  layers_.assign(config.layers.size(), {});
  for (size_t n = 0; n < layers_.size(); ++n) {
    const std::string prefix = absl::StrFormat("encoder.layer.%d.", n);
    AttentionParameters& attention = layers_[n].attention;
    const std::string a = prefix + "attention.";
    attention.norm = layout.AddNorm(a + "norm", d);
    attention.query = layout.AddLinear(a + "query", d, config.query_columns());
    attention.key = layout.AddLinear(a + "key", d, config.query_columns());
    attention.value = layout.AddLinear(a + "value", d, config.value_columns());
    attention.output =
        layout.AddLinear(a + "output", config.value_columns(), d);
    if (config.distance_bias) {
      attention.distance_bias = layout.Add(
          a + "distance_bias", {config.heads, config.layers[n].reach});
    }
    if (config.null_logit) {
      attention.null_logit = layout.Add(a + "null_logit", {config.heads});
    }

    FeedForwardParameters& feed_forward = layers_[n].feed_forward;
    const std::string f = prefix + "feed_forward.";
    feed_forward.norm = layout.AddNorm(f + "norm", d);
    feed_forward.hidden =
        layout.AddLinear(f + "hidden", d, config.feed_forward);
    feed_forward.output =
        layout.AddLinear(f + "output", config.feed_forward, d);
  }
  norm_ = layout.AddNorm("encoder.norm", d);
  forecast_ = layout.AddLinear("forecast", d, config.output_width());
}

void Parameters::Initialize(uint64_t seed) {
  SetZero();
  Random random(seed);
  const double residual_scale =
      1 / std::sqrt(2.0 * static_cast<double>(layers_.size()));
  for (const NamedTensor& tensor : tensors_) {
    const std::span<float> values = Tensor(tensor);
    if (tensor.name.ends_with(".scale")) {
      std::fill(values.begin(), values.end(), 1.0F);
    } else if (tensor.name.ends_with(".weight")) {
      double deviation = 1 / std::sqrt(static_cast<double>(tensor.shape[0]));
      if (tensor.name.ends_with("output.weight")) deviation *= residual_scale;
      for (float& value : values) {
        value = static_cast<float>(deviation * random.Normal());
      }
    }
  }
}

const NamedTensor* Parameters::Find(std::string_view name) const {
  for (const NamedTensor& tensor : tensors_) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

void Parameters::SetZero() { std::fill(values_.begin(), values_.end(), 0.0F); }

void Parameters::CopyFrom(const Parameters& other) {
  std::memcpy(values_.data(), other.values_.data(),
              values_.size() * sizeof(float));
}

}  // namespace telltale::model
