#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/encoder_config.h"

namespace telltale::model {

// A weight [inputs, outputs], row-major, and its bias [outputs].
struct LinearParameters {
  float* weight = nullptr;
  float* bias = nullptr;  // null: none
  int inputs = 0;
  int outputs = 0;
};

// Scale and shift of a layer norm, [width] each.
struct NormParameters {
  float* scale = nullptr;
  float* shift = nullptr;
};

struct AttentionParameters {
  NormParameters norm;
  LinearParameters query;
  LinearParameters key;
  LinearParameters value;
  LinearParameters output;
  float* distance_bias = nullptr;  // [H, reach]; null: none
  float* null_logit = nullptr;     // [H]; null: none
};

struct FeedForwardParameters {
  NormParameters norm;
  LinearParameters hidden;
  LinearParameters output;
};

struct LayerParameters {
  AttentionParameters attention;
  FeedForwardParameters feed_forward;
};

struct StemParameters {
  LinearParameters linear;
  LinearParameters hidden;  // no outputs: the stem is linear
  LinearParameters output;
};

// One named tensor inside the buffer.
struct NamedTensor {
  std::string name;  // a path: encoder.layer.0.attention.query.weight
  std::vector<int64_t> shape;
  size_t offset = 0;
  size_t size = 0;
  bool decays = false;  // weight decay applies
};

// Everything that training learns, in one buffer with named views; gradients
// and the moments of the optimiser have the same layout.
//
// Owns its buffer; views stay valid as long as it lives and is not moved from
// (moving keeps the buffer, hence the views).
class Parameters {
 public:
  // All zero. `stand_ins`: how many input columns have a learnt stand-in for
  // missing samples. REQUIRES: config.Validate() is OK.
  Parameters(const EncoderConfig& config, int stand_ins);

  Parameters(Parameters&&) = default;
  Parameters& operator=(Parameters&&) = default;
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  // Draws weights from a normal of variance 1 / inputs (residual outputs are
  // scaled down by the square root of twice the depth); scales are one, the
  // rest zero. The same `seed` gives the same bits on every machine.
  void Initialize(uint64_t seed);

  std::span<float> values() { return values_; }
  std::span<const float> values() const { return values_; }
  const std::vector<NamedTensor>& tensors() const { return tensors_; }
  std::span<float> Tensor(const NamedTensor& tensor) {
    return std::span(values_).subspan(tensor.offset, tensor.size);
  }
  std::span<const float> Tensor(const NamedTensor& tensor) const {
    return std::span(values_).subspan(tensor.offset, tensor.size);
  }
  // Null when there is no tensor of this name.
  const NamedTensor* Find(std::string_view name) const;

  void SetZero();
  // Same values in another buffer.
  void CopyFrom(const Parameters& other);

  const StemParameters& stem() const { return stem_; }
  const std::vector<LayerParameters>& layers() const { return layers_; }
  const NormParameters& norm() const { return norm_; }
  const LinearParameters& forecast() const { return forecast_; }
  float* stand_in() const { return stand_in_; }  // [stand_ins]

 private:
  // Lays tensors out one after the other; `base` is null on the first walk,
  // which only measures.
  class Layout;
  void Place(Layout& layout, const EncoderConfig& config, int stand_ins);

  std::vector<float> values_;
  std::vector<NamedTensor> tensors_;
  StemParameters stem_;
  std::vector<LayerParameters> layers_;
  NormParameters norm_;
  LinearParameters forecast_;
  float* stand_in_ = nullptr;
};

}  // namespace telltale::model
