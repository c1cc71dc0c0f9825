#include "model/training/division.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "model/positions.h"
#include "model/random.h"

namespace telltale::model {
namespace {

// So many instants of a segment must be left for training.
constexpr int kLeastTrainingInstants = 64;

// Fewer short segments than these are divided by time all the same: holding
// one out would take too much of what there is to learn.
constexpr size_t kFewSegments = 8;

// The number of instants before `split` whose targets all lie before it too:
// no target of the training part may be a held-out instant, however densely
// sampled.
int TrainingEnd(const data::Series& series, int64_t cadence_ns, int split,
                int longest_horizon) {
  const auto position = [&](int t) {
    return Position(series.time_ns[static_cast<size_t>(t)], cadence_ns);
  };
  int end = split;
  while (end > 0 &&
         position(end - 1) + longest_horizon + kSameInstant > position(split)) {
    --end;
  }
  return end;
}

absl::Status DivideByTime(std::span<const data::Series> segments, int segment,
                          double held_out, int longest_horizon,
                          Division& division) {
  const data::Series& series = segments[static_cast<size_t>(segment)];
  const int length = series.length();
  const int split = length - std::max(1, static_cast<int>(held_out * length));
  const int end =
      TrainingEnd(series, segments[0].CadenceNs(), split, longest_horizon);
  if (end < kLeastTrainingInstants) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s leaves %d instants to train on, of %d; %d are needed: give a "
        "longer recording, hold out less, or forecast less far ahead",
        NameOf(segments, segment), end, length, kLeastTrainingInstants));
  }
  division.training.push_back({segment, 0, end});
  division.held_out.push_back({segment, split, length});
  return absl::OkStatus();
}

// Deals the share `held_out` of the segments' instants, at least one segment
// each way where there are two.
void Deal(std::span<const data::Series> segments, std::vector<int> dealt,
          double held_out, Division& division) {
  Random random(0xdea1);
  for (size_t i = dealt.size(); i > 1; --i) {
    std::swap(
        dealt[i - 1],
        dealt[static_cast<size_t>(random.Below(static_cast<int64_t>(i)))]);
  }
  const auto length = [&](int segment) {
    return segments[static_cast<size_t>(segment)].length();
  };
  int64_t total = 0;
  for (int segment : dealt) total += length(segment);
  int64_t held = 0;
  for (size_t i = 0; i < dealt.size(); ++i) {
    const Range whole = {dealt[i], 0, length(dealt[i])};
    const bool last_chance = i == 0 && dealt.size() > 1;
    if (last_chance || static_cast<double>(held + whole.end) <=
                           held_out * static_cast<double>(total)) {
      held += whole.end;
      division.held_out.push_back(whole);
    } else {
      division.training.push_back(whole);
    }
  }
}

}  // namespace

std::string NameOf(std::span<const data::Series> segments, int segment) {
  const std::string& name = segments[static_cast<size_t>(segment)].name;
  return name.empty() ? absl::StrFormat("segment %d", segment) : name;
}

absl::StatusOr<Division> Divide(std::span<const data::Series> segments,
                                const FaultLabels& labels, double held_out,
                                const EncoderConfig& encoder) {
  std::vector<int> nominal, faulty, divided;
  for (int i = 0; i < static_cast<int>(segments.size()); ++i) {
    const int length = segments[static_cast<size_t>(i)].length();
    if (held_out * length >= encoder.context_length()) {
      divided.push_back(i);
    } else if (labels.CountInstants({i, 0, length}) > 0) {
      faulty.push_back(i);
    } else {
      nominal.push_back(i);
    }
  }
  Division division;
  if (nominal.size() + faulty.size() < kFewSegments) {
    divided.insert(divided.end(), nominal.begin(), nominal.end());
    divided.insert(divided.end(), faulty.begin(), faulty.end());
    std::ranges::sort(divided);
  } else {
    Deal(segments, nominal, held_out, division);
    Deal(segments, faulty, held_out, division);
    division.whole = divided.empty();
  }
  absl::Status refusal;
  for (int segment : divided) {
    auto s = DivideByTime(segments, segment, held_out, encoder.horizons.back(),
                          division);
    if (s.ok()) continue;
    const int length = segments[static_cast<size_t>(segment)].length();
    division.training.push_back({segment, 0, length});
    refusal.Update(s);
  }
  if (division.held_out.empty()) return refusal;
  std::ranges::sort(division.training, {}, &Range::segment);
  std::ranges::sort(division.held_out, {}, &Range::segment);
  for (const Range& range : division.training) {
    division.training_instants += range.length();
  }
  return division;
}

}  // namespace telltale::model
