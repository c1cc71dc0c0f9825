#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/encoder_config.h"
#include "model/parameters.h"
#include "server/cli/onnx_graph.h"

namespace telltale::server {

// The parts that the exported graphs of an encoder have in common. Rows are
// [n, columns], an instant each. Views configuration and parameters.
class OnnxLayers {
 public:
  OnnxLayers(const model::EncoderConfig& config,
             const model::Parameters& parameters)
      : config_(config), parameters_(parameters) {}

  OnnxGraph& graph() { return graph_; }

  std::string Reshape(const std::string& value,
                      const std::vector<int64_t>& shape) {
    return graph_.Apply("Reshape", {value, graph_.Integers(shape)});
  }
  std::string Permute(const std::string& value,
                      const std::vector<int64_t>& order) {
    return graph_.Apply("Transpose", {value}, {{"perm", order}});
  }
  // `factor`: of weight and bias.
  std::string Linear(const std::string& name,
                     const model::LinearParameters& linear,
                     const std::string& rows, float factor = 1);
  std::string Norm(const std::string& name, const model::NormParameters& norm,
                   const std::string& rows);

  // From rows of taps to the stem.
  std::string Stem(const std::string& taps);
  // Queries, keys and values of a layer, rows each, before they are turned;
  // the scale of scores is in the queries.
  struct Projected {
    std::string query, key, value;
  };
  Projected Project(size_t layer, const std::string& stream,
                    const std::string& stem);
  // What is attended to and the stream, to the layer's output.
  std::string Finish(size_t layer, const std::string& stream,
                     const std::string& attended);
  std::string Forecast(const std::string& stream);
  // Turns heads, [.., query_width], by the values `cosine` and `sine`, [..,
  // query_width / 2].
  std::string Turn(const std::string& heads);

 private:
  const model::EncoderConfig& config_;
  const model::Parameters& parameters_;
  OnnxGraph graph_;
};

}  // namespace telltale::server
