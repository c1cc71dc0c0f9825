#include "model/training/held_out.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "model/scoring/calibration.h"
#include "model/scoring/stream_scorer.h"
#include "model/scoring/threshold.h"
#include "model/scoring/views.h"

namespace telltale::model {
namespace {

// Instants before the held-out ones whose residuals tell what shocks look
// like; more add time and nothing else.
constexpr int kShockInstants = 50'000;

// A part is no shorter than this for want of memory: means over minutes must
// have settled, and there must be something to judge.
constexpr int kLeastPart = 2'000;

// What is kept of an instant: residuals, change and sample of each channel, and
// the magnitudes that slow views are of; of one held out also its views.
double ShockBytes(const EncoderConfig& encoder) {
  const size_t floats = static_cast<size_t>(encoder.targets) *
                        (encoder.horizons.size() + 2 + kSlowViews);
  return static_cast<double>(floats * sizeof(float));
}

double HeldOutBytes(const EncoderConfig& encoder) {
  const ViewLayout layout = {static_cast<int>(encoder.horizons.size()),
                             encoder.targets};
  return ShockBytes(encoder) +
         static_cast<double>(layout.count() * sizeof(float));
}

double Budget(std::span<const data::Series> segments) {
  double bytes = 0;
  for (const data::Series& series : segments) {
    bytes += static_cast<double>(series.samples.size() * sizeof(float));
  }
  return std::max(kLeastCalibrationBytes, kCalibrationShare * bytes);
}

int Share(int instants, double share) {
  const auto part =
      static_cast<int>(std::floor(share * static_cast<double>(instants)));
  return std::min(instants, std::max(part, kLeastPart));
}

// The share of its instants that a held-out range gives to calibration.
CalibrationPart PartOf(const Range& held_out, bool labelled, double share) {
  const int most = labelled ? held_out.length()
                            : std::min(held_out.length(),
                                       static_cast<int>(kMaxCurveInstants));
  const int first = held_out.end - Share(most, share);
  const int shocks = std::min(kShockInstants, held_out.end - most);
  const int begin = first - Share(shocks, share);
  // Where there is nothing before, it is scored from where any stream is.
  const int scored =
      std::min(std::max(first, begin + StreamScorer::kWarmUp), held_out.end);
  return {{held_out.segment, begin, held_out.end}, scored};
}

// `count` of the held-out ranges, evenly chosen, with a share of each; where
// segments were dealt whole, also training ones, for their shocks.
std::vector<CalibrationPart> PartsOf(const Division& division, bool labelled,
                                     double share, size_t count) {
  std::vector<CalibrationPart> parts;
  const size_t all = division.held_out.size();
  for (size_t i = 0; i < count; ++i) {
    parts.push_back(
        PartOf(division.held_out[i * all / count], labelled, share));
  }
  int shocks = Share(kShockInstants, share);
  for (const Range& range : division.training) {
    if (!division.whole || range.length() > shocks) break;
    shocks -= range.length();
    parts.push_back({range, range.end});
  }
  return parts;
}

// Nothing that a labelled fault has a part in counts as nominal: its own
// residuals, and those of what was forecast while it lasted.
void ForgetFaults(const Range& range, const FaultLabels& labels,
                  int longest_horizon, Matrix& residuals) {
  for (const Range& fault : labels.Within(range)) {
    const int end = std::min(fault.end + longest_horizon, range.end);
    for (int t = fault.begin; t < end; ++t) {
      std::fill_n(residuals.Row(t - range.begin), residuals.columns(),
                  std::numeric_limits<float>::quiet_NaN());
    }
  }
}

void AppendVerdicts(const CalibrationPart& part, const FaultLabels& labels,
                    std::span<const float> logits,
                    std::vector<LabelledVerdict>& verdicts) {
  for (int t = part.held_out; t < part.range.end; ++t) {
    verdicts.push_back({logits[static_cast<size_t>(t - part.range.begin)],
                        labels.Holds(part.range.segment, t)});
  }
  // Alarms of two segments are two events.
  verdicts.resize(verdicts.size() + kEventGap,
                  {std::numeric_limits<float>::quiet_NaN(), false});
}

}  // namespace

double CalibrationBytes(std::span<const CalibrationPart> parts,
                        const EncoderConfig& encoder) {
  double bytes = 0;
  for (const CalibrationPart& part : parts) {
    const int held_out = part.range.end - part.held_out;
    bytes += held_out * HeldOutBytes(encoder) +
             (part.range.length() - held_out) * ShockBytes(encoder);
  }
  return bytes;
}

std::vector<CalibrationPart> PlanCalibration(
    std::span<const data::Series> segments, const FaultLabels& labels,
    const EncoderConfig& encoder, const Division& division) {
  const double budget = Budget(segments);
  const size_t all = division.held_out.size();
  const auto parts_of = [&](double share, size_t count) {
    return PartsOf(division, !labels.empty(), share, count);
  };
  std::vector<CalibrationPart> parts = parts_of(1, all);
  const double wanted = CalibrationBytes(parts, encoder);
  if (wanted <= budget) return parts;
  const double share = budget / wanted;
  parts = parts_of(share, all);
  const double least = CalibrationBytes(parts, encoder);
  if (least <= budget) return parts;
  auto count = static_cast<size_t>(budget / least * static_cast<double>(all));
  // The chosen may be longer than the others.
  parts = parts_of(share, std::max<size_t>(1, count));
  while (count > 1 && CalibrationBytes(parts, encoder) > budget) {
    count -= count / 16 + 1;
    parts = parts_of(share, std::max<size_t>(1, count));
  }
  return parts;
}

HeldOut CollectHeldOut(Trainer& trainer, const FaultLabels& labels,
                       int longest_horizon,
                       std::span<const CalibrationPart> parts) {
  HeldOut collected;
  for (const CalibrationPart& part : parts) {
    std::vector<float> logits;
    SegmentResiduals segment =
        trainer.Residuals(part.range, labels.empty() ? nullptr : &logits);
    segment.held_out_begin = part.held_out - part.range.begin;
    ForgetFaults(part.range, labels, longest_horizon, segment.residuals);
    collected.residuals.push_back(std::move(segment));
    // Of training segments there is nothing to judge.
    if (!labels.empty() && part.held_out < part.range.end) {
      AppendVerdicts(part, labels, logits, collected.verdicts);
    }
  }
  return collected;
}

}  // namespace telltale::model
