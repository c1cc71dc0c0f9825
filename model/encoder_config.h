#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace telltale::model {

// Where a layer's keys and values come from.
enum class KeySource {
  kLayer,  // the layer's own input, as in the textbook
  // The stem: keys and values stay local in time, so that attention points at
  // the instant where something happened, not at one that has heard of it.
  kStem,
};

struct LayerConfig {
  KeySource key_source = KeySource::kLayer;
  int reach = 256;      // instants a query sees, itself counted
  int blind_heads = 0;  // the first so many heads ...
  int blind_span = 0;   // ... do not see the last so many instants

  friend bool operator==(const LayerConfig&, const LayerConfig&) = default;
};

// Shapes and switches of an encoder; a value. The defaults are the shipped
// architecture.
struct EncoderConfig {
  int input_width = 0;   // I: columns of an encoded instant
  int width = 32;        // D: of the residual stream
  int heads = 4;         // H
  int query_width = 16;  // of queries and keys, per head; even
  int value_width = 8;   // of values, per head
  int feed_forward = 64;
  int stem_taps = 9;     // instants under the stem's causal convolution
  int stem_hidden = 64;  // 0: the stem is linear
  bool rotary = true;
  double rotary_base = 300;
  bool distance_bias = true;  // a learnt score for each head and distance
  bool null_logit = true;     // heads may attend to nothing
  // False: every instant sees later ones too, as in the unmasked textbook
  // encoder. For proofs on whole series; no checkpoint holds such a model.
  bool causal = true;
  std::vector<LayerConfig> layers = {
      {.key_source = KeySource::kLayer, .reach = 16},
      {.key_source = KeySource::kStem,
       .reach = 256,
       .blind_heads = 2,
       .blind_span = 32}};
  std::vector<int> horizons = {1, 8};  // instants ahead, rising
  int targets = 0;                     // T: channels forecast
  // Beside the forecasts, the head gives the logit of a verdict: whether the
  // instant belongs to a fault like those that were labelled.
  bool verdict = false;

  // Columns of what lies under the stem.
  int64_t tap_columns() const { return int64_t{stem_taps} * input_width; }
  int query_columns() const { return heads * query_width; }
  int value_columns() const { return heads * value_width; }
  int forecast_width() const {
    return static_cast<int>(horizons.size()) * targets;
  }
  // The index of the horizon that attribution and slow views rest on: the
  // first beyond the next instant, if there is one.
  int reference_horizon() const { return horizons.size() > 1 ? 1 : 0; }
  // Columns of the head: the forecasts, then the verdict's logit if any.
  int output_width() const { return forecast_width() + (verdict ? 1 : 0); }
  // Whether streams remember the inputs under the stems they attend to, so
  // that an output can be explained by them: where the last layer's keys are
  // local in time.
  bool KeepsInputs() const {
    return layers.back().key_source == KeySource::kStem;
  }
  // The largest reach of a layer.
  int context_length() const;
  // Instants, itself counted, that a forecast depends on.
  int receptive_field() const;

  // kInvalidArgument, naming the setting, when the shapes do not fit together
  // or exceed what a checkpoint may ask for.
  absl::Status Validate() const;
};

std::string EncoderConfigToJson(const EncoderConfig& config);

// kInvalidArgument: not the JSON of a valid configuration.
absl::StatusOr<EncoderConfig> EncoderConfigFromJson(std::string_view json);

}  // namespace telltale::model
