#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/detector.h"
#include "model/stream_encoder.h"

namespace telltale::model {

// Collects the attention of a window's instants, pass by pass, and lays it out
// as one matrix a layer.
class AttentionCapture {
 public:
  explicit AttentionCapture(size_t layers) : layers_(layers) {}

  // What StreamRows::attention points to.
  std::vector<std::vector<AttentionRow>>* layers() { return &layers_; }

  // The time stamp of an instant; to be told of every key's.
  void Name(int64_t index, int64_t time_ns) { times_[index] = time_ns; }
  bool Knows(int64_t index) const { return times_.contains(index); }

  // One entry a layer.
  std::vector<AttentionRows> Assemble() const;

 private:
  std::vector<std::vector<AttentionRow>> layers_;
  std::map<int64_t, int64_t> times_;
};

}  // namespace telltale::model
