#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/matrix.h"
#include "model/scoring/novelty.h"

namespace telltale::model {

// Up to kBankSize of the points that end in rows [begin, end) of a channel's
// samples, chosen farthest first: each is the one that lies farthest from those
// chosen before it (Gonzalez 1985). Rows of several segments: one span a
// segment.
class PointSet {
 public:
  // Points that are compared at the most; more are thinned evenly.
  static constexpr int kMostPoints = 4'000;

  struct Part {
    std::span<const float> samples;  // of a segment, without NaN
    int64_t begin = 0, end = 0;      // rows that points end in
    int segment = 0;
  };
  explicit PointSet(std::span<const Part> parts);

  Matrix ChooseBank() const;

  // The distances of the point that ends in row `t` of `samples` from all
  // points, save those of the same segment that end within kNearestLag rows.
  Novelty DistanceFromOthers(std::span<const float> samples, int64_t t,
                             int segment) const;

 private:
  struct Place {
    int segment = 0;
    int64_t row = 0;
  };
  std::vector<Place> places_;
  Matrix points_;  // [kTaps, places]
};

// The point[kTaps] that ends in row `t`; before a series its first sample held.
void PointAt(std::span<const float> samples, int64_t t, std::span<float> point);

// What novelty weighs, from how far the residuals of a channel range on nominal
// telemetry and how far its points do, in the same units: the better the
// channel is forecast, the less. Of `few` instants little was learnt, while all
// of them are in the bank: there it weighs more than residuals in any case.
float NoveltyWeight(float residual_range, float novelty_range, bool few);

}  // namespace telltale::model
