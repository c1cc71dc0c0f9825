#include "model/kv_cache.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace telltale::model {
namespace {

int64_t RoundUp(int64_t value) {
  return (value + kTileRows - 1) / kTileRows * kTileRows;
}

// A query may be looked back at from as far as the longest horizon after the
// end of its pass.
int64_t Lookback(const EncoderConfig& config) {
  return RoundUp(kTileRows - 1 + config.horizons.back() + 1);
}

}  // namespace

KvLayer::KvLayer(const EncoderConfig& config, const LayerConfig& layer) {
  const int64_t slots = RoundUp(layer.reach + Lookback(config));
  keys.Resize(config.query_columns(), KeyStride(slots));
  values.Resize(config.value_columns(), KeyStride(slots));
  positions.resize(static_cast<size_t>(slots));
}

void KvLayer::Append(int64_t index, double position, const float* key,
                     const float* value) {
  const int64_t slot = Slot(index);
  for (int64_t i = 0; i < keys.rows(); ++i) keys.Row(i)[slot] = key[i];
  for (int64_t i = 0; i < values.rows(); ++i) values.Row(i)[slot] = value[i];
  const double before =
      positions[static_cast<size_t>(Slot(index + slot_count() - 1))];
  if (position != before + 1) regular_begin_ = index;
  if (position != std::floor(position)) regular_begin_ = index + 1;
  positions[static_cast<size_t>(slot)] = position;
}

std::span<const KeyRun> KvLayer::Runs(int64_t begin, int64_t end) {
  const int64_t slot = Slot(begin);
  const int64_t first = std::min(end - begin, slot_count() - slot);
  const bool regular = begin >= regular_begin_;
  runs_[0] = {begin, first, positions.data() + slot, slot, regular};
  if (first == end - begin) return std::span(runs_).first(1);
  runs_[1] = {begin + first, end - begin - first, positions.data(), 0, regular};
  return runs_;
}

KvCache::KvCache(const EncoderConfig& config, int64_t first_index)
    : first_index_(first_index),
      end_index_(first_index),
      recent_inputs_(config.stem_taps - 1, config.input_width),
      stems_(Lookback(config), config.width),
      last_inputs_(Lookback(config), config.width),
      last_queries_(Lookback(config), config.query_columns()) {
  for (const LayerConfig& layer : config.layers) {
    layers_.emplace_back(config, layer);
  }
  if (config.KeepsInputs()) {
    inputs_.Resize(layers_.back().slot_count() + config.stem_taps - 1,
                   config.input_width);
  }
}

void KvCache::Clear(int64_t first_index) {
  first_index_ = first_index;
  end_index_ = first_index;
  // What rings hold is out of reach from here on; this is not.
  std::ranges::fill(recent_inputs_.floats(), 0.0F);
}

int64_t KvCache::Begin(const KvLayer& layer) const {
  return std::max(first_index_, end_index_ - layer.slot_count());
}

void KvCache::RememberStem(int64_t index, const float* stem) {
  std::copy_n(stem, stems_.columns(), stems_.Row(index % lookback()));
}

void KvCache::Remember(int64_t index, const float* input, const float* query) {
  const int64_t row = index % lookback();
  std::copy_n(input, last_inputs_.columns(), last_inputs_.Row(row));
  std::copy_n(query, last_queries_.columns(), last_queries_.Row(row));
}

const float* KvCache::Stem(int64_t index) const {
  return stems_.Row(index % lookback());
}

void KvCache::RememberInputs(const ConstMatrixView& x) {
  for (int64_t i = 0; i < x.rows; ++i) {
    std::copy_n(x.Row(i), x.columns,
                inputs_.Row((end_index_ + i) % inputs_.rows()));
  }
}

const float* KvCache::Input(int64_t index) const {
  return inputs_.Row(index % inputs_.rows());
}

const float* KvCache::LastInput(int64_t index) const {
  return last_inputs_.Row(index % lookback());
}

const float* KvCache::LastQuery(int64_t index) const {
  return last_queries_.Row(index % lookback());
}

template <typename Visit>
void KvCache::VisitArrays(const Visit& visit) {
  visit(&first_index_, sizeof(first_index_));
  visit(&end_index_, sizeof(end_index_));
  const auto visit_matrix = [&](Matrix& matrix) {
    if (matrix.floats().empty()) return;  // a stem of one tap has no past
    visit(matrix.data(), matrix.floats().size() * sizeof(float));
  };
  for (KvLayer& layer : layers_) {
    visit_matrix(layer.keys);
    visit_matrix(layer.values);
    visit(layer.positions.data(), layer.positions.size() * sizeof(double));
    visit(&layer.regular_begin_, sizeof(layer.regular_begin_));
  }
  visit_matrix(recent_inputs_);
  visit_matrix(stems_);
  visit_matrix(last_inputs_);
  visit_matrix(last_queries_);
  visit_matrix(inputs_);
}

void KvCache::Save(std::string& bytes) const {
  // Visiting only reads here; the visitor is shared with Restore.
  const_cast<KvCache*>(this)->VisitArrays([&](const void* data, size_t size) {
    bytes.append(static_cast<const char*>(data), size);
  });
}

bool KvCache::Restore(std::string_view& bytes) {
  bool complete = true;
  VisitArrays([&](void* data, size_t size) {
    if (bytes.size() < size) {
      complete = false;
      return;
    }
    std::memcpy(data, bytes.data(), size);
    bytes.remove_prefix(size);
  });
  return complete && 0 <= first_index_ && first_index_ <= end_index_;
}

}  // namespace telltale::model
