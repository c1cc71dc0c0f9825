#include "model/scoring/novelty_calibration.h"

#include <algorithm>
#include <cmath>

#include "model/scoring/novelty_fit.h"

namespace telltale::model {
namespace {

// In so few instants the points of all of them are the bank, held-out ones too,
// and an instant is judged by those that are not near it in time.
constexpr int64_t kFewInstants = 4'000;

// Instants that the range of novelty is taken from at the most.
constexpr int64_t kRangeInstants = 4'000;

bool AreFew(std::span<const SegmentResiduals> segments) {
  int64_t instants = 0;
  for (const SegmentResiduals& segment : segments) {
    instants += segment.samples.rows();
  }
  return instants <= kFewInstants;
}

// A channel's samples, where missing the last valid one.
std::vector<float> HeldSamples(const SegmentResiduals& segment, int target) {
  std::vector<float> samples;
  float last = 0;
  for (int64_t t = 0; t < segment.samples.rows(); ++t) {
    const float sample = segment.samples.Row(t)[target];
    if (!std::isnan(sample)) last = sample;
    samples.push_back(last);
  }
  return samples;
}

// A channel's samples of all segments, and the points of those known.
struct ChannelPoints {
  std::vector<std::vector<float>> samples;  // [segments]
  PointSet points;
};

ChannelPoints PointsOf(std::span<const SegmentResiduals> segments, int target) {
  const bool few = AreFew(segments);
  std::vector<std::vector<float>> samples;
  for (const SegmentResiduals& segment : segments) {
    samples.push_back(HeldSamples(segment, target));
  }
  std::vector<PointSet::Part> parts;
  for (size_t i = 0; i < segments.size(); ++i) {
    parts.push_back(
        {samples[i], 0,
         few ? segments[i].samples.rows() : segments[i].held_out_begin,
         static_cast<int>(i)});
  }
  PointSet points(parts);
  return {std::move(samples), std::move(points)};
}

// What a magnitude ranges up to on nominal telemetry: the 95 % quantile of its
// moving average.
class Range {
 public:
  void Add(float magnitude) {
    average_ += kShare * (magnitude - average_);
    averages_.push_back(average_);
  }
  float Value() {
    if (averages_.empty()) return 0;
    const auto place =
        averages_.begin() +
        static_cast<int64_t>(0.95 * static_cast<double>(averages_.size() - 1));
    std::ranges::nth_element(averages_, place);
    return *place;
  }

 private:
  static constexpr float kShare = 0.04F;
  float average_ = 0;
  std::vector<float> averages_;
};

float ResidualRange(std::span<const SegmentResiduals> segments,
                    const ResidualScoring& scoring, int target) {
  const size_t column = scoring.Index(scoring.reference, target);
  Range range;
  for (const SegmentResiduals& segment : segments) {
    for (int64_t t = segment.held_out_begin; t < segment.residuals.rows();
         ++t) {
      const float residual = segment.residuals.Row(t)[column];
      if (!std::isnan(residual)) range.Add(std::abs(residual));
    }
  }
  return range.Value();
}

float NoveltyRange(std::span<const SegmentResiduals> segments,
                   const ChannelPoints& channel, const Matrix& bank) {
  const bool few = AreFew(segments);
  Range range;
  for (size_t i = 0; i < segments.size(); ++i) {
    const int64_t rows = segments[i].samples.rows();
    const int64_t begin =
        std::max(segments[i].held_out_begin, rows - kRangeInstants);
    std::vector<float> point(NoveltyScoring::kTaps);
    for (int64_t t = begin; t < rows; ++t) {
      if (few) {
        range.Add(
            channel.points
                .DistanceFromOthers(channel.samples[i], t, static_cast<int>(i))
                .habituated);
        continue;
      }
      PointAt(channel.samples[i], t, point);
      range.Add(DistanceFromBank(point, bank).habituated);
    }
  }
  return range.Value();
}

}  // namespace

void FitNovelty(std::span<const SegmentResiduals> segments,
                std::span<const float> unit, Scoring& scoring) {
  const int targets = scoring.residuals.targets;
  scoring.novelty.weight.assign(static_cast<size_t>(targets), 0.0F);
  scoring.novelty.banks.assign(static_cast<size_t>(targets), Matrix());
  for (int c = 0; c < targets; ++c) {
    const auto i = static_cast<size_t>(c);
    if (segments.empty() || segments[0].samples.rows() == 0) return;
    const ChannelPoints channel = PointsOf(segments, c);
    Matrix bank = channel.points.ChooseBank();
    if (bank.columns() == 0) continue;
    const float weight = NoveltyWeight(
        ResidualRange(segments, scoring.residuals, c) / unit[i],
        NoveltyRange(segments, channel, bank) / unit[i], AreFew(segments));
    if (weight <= 0) continue;
    scoring.novelty.weight[i] = weight;
    scoring.novelty.banks[i] = std::move(bank);
  }
}

std::vector<std::vector<Novelty>> HeldOutNovelty(
    std::span<const SegmentResiduals> segments, size_t segment,
    const Scoring& scoring) {
  std::vector<std::vector<Novelty>> novelty;
  if (!AreFew(segments)) return novelty;
  const int64_t rows = segments[segment].samples.rows();
  novelty.resize(static_cast<size_t>(rows));
  for (int c = 0; c < scoring.residuals.targets; ++c) {
    if (scoring.novelty.banks[static_cast<size_t>(c)].columns() == 0) continue;
    const ChannelPoints channel = PointsOf(segments, c);
    for (int64_t t = 0; t < rows; ++t) {
      novelty[static_cast<size_t>(t)].push_back(
          channel.points.DistanceFromOthers(channel.samples[segment], t,
                                            static_cast<int>(segment)));
    }
  }
  return novelty;
}

}  // namespace telltale::model
