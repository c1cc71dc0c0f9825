#include "model/layers/score_mask.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace telltale::model {
namespace {

// Where a distance falls in a table of integer distances.
struct TablePlace {
  int64_t below = 0;
  float fraction = 0;  // towards the next entry
};

TablePlace Locate(double distance, int64_t entries) {
  const double clamped =
      std::clamp(distance, 0.0, static_cast<double>(entries - 1));
  const auto below = std::min(static_cast<int64_t>(clamped), entries - 1);
  return {below, static_cast<float>(clamped - static_cast<double>(below))};
}

}  // namespace

ScoreMask::ScoreMask(const EncoderConfig& config, const LayerConfig& layer,
                     const AttentionParameters& parameters)
    : config_(config), layer_(layer), parameters_(parameters) {}

int64_t ScoreMask::Nearest(int head) const {
  if (!config_.causal) return 1 - static_cast<int64_t>(layer_.reach);
  return head < layer_.blind_heads ? layer_.blind_span : 0;
}

ScoreMask::Range ScoreMask::Visible(const QueryPlace& query, const KeyRun& run,
                                    int64_t nearest) const {
  const int64_t first = query.index - layer_.reach + 1 - run.first_index;
  const int64_t last = query.index - nearest - run.first_index;
  Range range;
  range.begin = std::clamp<int64_t>(first, 0, run.count);
  range.end = std::clamp<int64_t>(last + 1, range.begin, run.count);
  return range;
}

bool ScoreMask::IsRegular(std::span<const double> positions) {
  for (size_t i = 0; i < positions.size(); ++i) {
    const double expected = positions[0] + static_cast<double>(i);
    if (positions[i] != expected) return false;
  }
  return positions.empty() || std::floor(positions[0]) == positions[0];
}

std::span<const KeyRange> ScoreMask::Seen(const QueryPlace& first,
                                          const QueryPlace& last,
                                          std::span<const KeyRun> runs,
                                          int head) const {
  size_t count = 0;
  for (const KeyRun& run : runs) {
    const int64_t begin = Visible(first, run, Nearest(head)).begin;
    const int64_t end = Visible(last, run, Nearest(head)).end;
    if (begin >= end) continue;
    seen_[count++] = {
        (run.column + begin) / kKeyBlock * kKeyBlock,
        (run.column + end + kKeyBlock - 1) / kKeyBlock * kKeyBlock};
  }
  if (count == 2) {
    if (seen_[1].begin < seen_[0].begin) std::swap(seen_[0], seen_[1]);
    if (seen_[1].begin <= seen_[0].end) {
      seen_[0].end = std::max(seen_[0].end, seen_[1].end);
      count = 1;
    }
  }
  return std::span(seen_).first(count);
}

bool ScoreMask::Measure(const QueryPlace& query, const KeyRun& run) const {
  if (config_.causal && run.regular && run.count > 0 &&
      query.position - run.positions[0] ==
          static_cast<double>(query.index - run.first_index)) {
    return true;
  }
  distances_.resize(
      std::max(distances_.size(), static_cast<size_t>(run.count)));
  const Range range = Visible(query, run, Nearest(config_.heads - 1));
  bool regular = true;
  for (int64_t j = range.begin; j < range.end; ++j) {
    const double distance = query.position - run.positions[j];
    distances_[static_cast<size_t>(j)] = distance;
    regular &=
        distance == static_cast<double>(query.index - run.first_index - j);
  }
  // The table starts at zero: later keys of an unmasked encoder are clamped.
  return regular && config_.causal;
}

void ScoreMask::Fill(const QueryPlace& query, std::span<const KeyRun> runs,
                     int64_t key_columns, float* rows,
                     int64_t head_stride) const {
  for (int head = 0; head < config_.heads; ++head) {
    float* row = rows + head * head_stride;
    std::fill_n(row, Columns(key_columns), kMasked);
    if (parameters_.null_logit != nullptr) {
      row[key_columns] = parameters_.null_logit[head];
    }
  }
  const bool biased = parameters_.distance_bias != nullptr;
  for (const KeyRun& run : runs) {
    const bool regular = biased && Measure(query, run);
    for (int head = 0; head < config_.heads; ++head) {
      float* columns = rows + head * head_stride + run.column;
      if (biased) {
        FillBias(query, run, head, regular, columns);
      } else {
        const Range range = Visible(query, run, Nearest(head));
        std::fill(columns + range.begin, columns + range.end, 0.0F);
      }
    }
  }
  if (!query.hidden.empty()) {
    Hide(query, runs, key_columns, rows, head_stride);
  }
}

void ScoreMask::Hide(const QueryPlace& query, std::span<const KeyRun> runs,
                     int64_t key_columns, float* rows,
                     int64_t head_stride) const {
  for (int head = 0; head < config_.heads; ++head) {
    float* row = rows + head * head_stride;
    for (const KeyRun& run : runs) {
      for (const int64_t index : query.hidden) {
        const int64_t j = index - run.first_index;
        if (0 <= j && j < run.count) row[run.column + j] = kMasked;
      }
    }
    const bool blind = std::all_of(row, row + key_columns + 1,
                                   [](float s) { return s == kMasked; });
    // A softmax over nothing but masked keys would see them all again.
    if (blind) row[key_columns] = 0;
  }
}

void ScoreMask::FillBias(const QueryPlace& query, const KeyRun& run, int head,
                         bool regular, float* columns) const {
  const Range range = Visible(query, run, Nearest(head));
  const int64_t entries = layer_.reach;
  const float* table = parameters_.distance_bias + head * entries;
  if (regular) {
    const float* from_query = table + (query.index - run.first_index);
    for (int64_t j = range.begin; j < range.end; ++j) {
      columns[j] = *(from_query - j);
    }
    return;
  }
  for (int64_t j = range.begin; j < range.end; ++j) {
    const auto [below, fraction] =
        Locate(distances_[static_cast<size_t>(j)], entries);
    const float above = table[std::min(below + 1, entries - 1)];
    columns[j] = table[below] * (1 - fraction) + above * fraction;
  }
}

void ScoreMask::AddGradients(const QueryPlace& query,
                             std::span<const KeyRun> runs, int64_t key_columns,
                             const float* rows, int64_t head_stride,
                             const AttentionParameters& gradients) const {
  if (gradients.null_logit != nullptr) {
    for (int head = 0; head < config_.heads; ++head) {
      gradients.null_logit[head] += rows[head * head_stride + key_columns];
    }
  }
  if (gradients.distance_bias == nullptr) return;
  const int64_t entries = layer_.reach;
  for (const KeyRun& run : runs) {
    const bool regular = Measure(query, run);
    for (int head = 0; head < config_.heads; ++head) {
      AddBiasGradients(query, run, head, regular,
                       rows + head * head_stride + run.column,
                       gradients.distance_bias + head * entries);
    }
  }
}

void ScoreMask::AddBiasGradients(const QueryPlace& query, const KeyRun& run,
                                 int head, bool regular, const float* columns,
                                 float* table) const {
  const Range range = Visible(query, run, Nearest(head));
  const int64_t entries = layer_.reach;
  if (regular) {
    float* from_query = table + (query.index - run.first_index);
    for (int64_t j = range.begin; j < range.end; ++j) {
      *(from_query - j) += columns[j];
    }
    return;
  }
  for (int64_t j = range.begin; j < range.end; ++j) {
    const auto [below, fraction] =
        Locate(distances_[static_cast<size_t>(j)], entries);
    table[below] += columns[j] * (1 - fraction);
    table[std::min(below + 1, entries - 1)] += columns[j] * fraction;
  }
}

}  // namespace telltale::model
