#include "model/scoring/lagged_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/scoring/evidence.h"

namespace telltale::model {
namespace {

// Rows kept before those that no score needs any more are let go.
constexpr int64_t kCapacity = 4'096;

}  // namespace

LaggedScores::LaggedScores(const Checkpoint& checkpoint, int lag)
    : checkpoint_(checkpoint),
      lag_(lag),
      means_(lag),
      targets_(static_cast<size_t>(checkpoint.config.targets)),
      fast_(kCapacity, checkpoint.config.targets),
      magnitudes_(kCapacity, int64_t{kSlowViews} * checkpoint.config.targets),
      known_(kCapacity, false),
      slow_(kSlowViews * targets_),
      evidence_(targets_) {}

std::optional<float> LaggedScores::Push(std::span<const float> views) {
  if (rows_ == kCapacity) Forget();
  const int64_t row = rows_++;
  known_[static_cast<size_t>(row)] = !views.empty();
  if (views.empty()) {
    std::fill_n(fast_.Row(row), targets_, -1.0F);
    std::fill_n(magnitudes_.Row(row), slow_.size(), 0.0F);
  } else {
    std::copy_n(views.begin(), targets_, fast_.Row(row));
    std::copy_n(views.begin() + static_cast<int64_t>(targets_), slow_.size(),
                magnitudes_.Row(row));
  }
  if (rows_ - next_ <= lag_) return std::nullopt;
  return Score(next_++);
}

std::optional<float> LaggedScores::Drain() {
  if (next_ == rows_) return std::nullopt;
  return Score(next_++);
}

float LaggedScores::Score(int64_t row) {
  const auto fast = std::span<const float>(fast_.Row(row), targets_);
  if (!known_[static_cast<size_t>(row)] || std::ranges::max(fast) < 0) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  means_.At(magnitudes_.view().Rows(0, rows_), row, slow_);
  JudgeLaggedViews(checkpoint_.scoring, fast, slow_, evidence_);
  return checkpoint_.lagged_combined.Evidence(std::ranges::max(evidence_));
}

// Lets go of rows before those that the next score needs.
void LaggedScores::Forget() {
  const int64_t first = std::max<int64_t>(0, next_ - SlowMeans::kTaps + 1);
  const int64_t kept = rows_ - first;
  for (Matrix* matrix : {&fast_, &magnitudes_}) {
    std::copy_n(matrix->Row(first), kept * matrix->columns(), matrix->data());
  }
  std::copy(known_.begin() + first, known_.begin() + rows_, known_.begin());
  rows_ = kept;
  next_ -= first;
}

}  // namespace telltale::model
