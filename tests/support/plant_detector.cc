#include "tests/support/plant_detector.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <unistd.h>

#include "absl/strings/str_format.h"

#include "model/random.h"
#include "model/training/train.h"
#include "tests/support/plant.h"

namespace telltale::model {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

// The value, or the end of the process: without a model there is no test.
template <typename Value>
Value Require(absl::StatusOr<Value> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
    std::abort();
  }
  return *std::move(result);
}

// A file that is gone when the process ends.
struct ScratchFile {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() /
      absl::StrFormat("telltale-plant-%d.safetensors", getpid());
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

Precision TestPrecision() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets the environment
  const char* name = std::getenv("TELLTALE_TEST_PRECISION");
  return ChoosePrecision(name == nullptr ? "f32" : name)
      .value_or(Precision::kFloat32);
}

std::unique_ptr<const Detector> LoadPlantDetector() {
  const ScratchFile file;
  const absl::Status saved = PlantCheckpoint().Save(file.path);
  if (!saved.ok()) {
    std::fprintf(stderr, "%s\n", saved.ToString().c_str());
    std::abort();
  }
  return Require(Detector::Load(file.path, TestPrecision()));
}

void AddFaults(data::Series& series) {
  const int n = series.length();
  for (int begin = 100; begin + 80 < n; begin += 150) {
    Overwrite(series, kInlet, begin, begin + 4, 60);        // a deep dip
    Overwrite(series, kTank, begin + 40, begin + 60, 90);   // a stuck reading
    Overwrite(series, kStill, begin + 75, begin + 76, 40);  // a spike
  }
}

void LoseSamples(data::Series& series, Random& random) {
  for (float& x : series.samples) {
    if (random.Uniform() < 0.02) x = kMissing;
  }
  for (int t = 0; t < series.length(); ++t) {
    if (random.Uniform() < 0.02) {
      for (int c = 0; c < kPlantChannels; ++c) {
        Overwrite(series, c, t, t + 1, kMissing);
      }
    }
  }
  for (int t = 260; t < std::min(series.length(), 275); ++t) {
    for (const int c : {kInlet, kOutlet, kTank}) {
      Overwrite(series, c, t, t + 1, kMissing);
    }
  }
}

// Time stamps with gaps, and stretches that are irregular.
void BendTime(data::Series& series, Random& random) {
  int64_t shift = 0;
  const int64_t start = series.time_ns.front();
  for (int t = 0; t < series.length(); ++t) {
    if (t == 200 || t == 420) shift += 37 * kPlantCadenceNs;
    if (t == 301) shift += 400 * kPlantCadenceNs;
    // Instants three times as dense as in training.
    if (t > 320 && t <= 400) shift -= kPlantCadenceNs * 2 / 3;
    int64_t time_ns = start + t * kPlantCadenceNs + shift;
    if (t > 450 && t <= 520) time_ns += random.Below(kPlantCadenceNs / 2);
    series.time_ns[static_cast<size_t>(t)] = time_ns;
  }
}

}  // namespace

const Checkpoint& PlantCheckpoint() {
  static const Checkpoint* const kCheckpoint = [] {
    const data::Series series = PlantSeries(1, 6000);
    return new Checkpoint(Require(Train({&series, 1}, PlantTraining(), {})));
  }();
  return *kCheckpoint;
}

const Detector& PlantDetector() {
  static const Detector* const kDetector = LoadPlantDetector().release();
  return *kDetector;
}

data::Series EventfulSeries(uint64_t seed, int length) {
  data::Series series = PlantSeries(seed, length);
  Random random(seed + 1000);
  AddFaults(series);
  LoseSamples(series, random);
  BendTime(series, random);
  return series;
}

std::vector<InstantScore> Advance(const Detector& detector, StreamState& state,
                                  const data::Series& series, int begin,
                                  int end, int window) {
  std::vector<InstantScore> scores;
  for (int from = begin; from < end; from += window) {
    const data::Window slice =
        Require(series.Slice(from, std::min(end, from + window)));
    const StreamWindow work = {&state, &slice};
    const auto results = Require(detector.Advance({&work, 1}));
    scores.insert(scores.end(), results.front().instants.begin(),
                  results.front().instants.end());
  }
  return scores;
}

std::vector<InstantScore> Score(const data::Series& series, int window) {
  const Detector& detector = PlantDetector();
  const auto state = detector.NewStream();
  return Advance(detector, *state, series, 0, series.length(), window);
}

std::string Text(const InstantScore& score) {
  std::string text = absl::StrFormat(
      "%d state %d score %a probability %a anomaly %d severity %d missing %d",
      score.time_ns, static_cast<int>(score.state), score.score,
      score.probability, score.anomaly, static_cast<int>(score.severity),
      score.missing);
  if (score.verdict) text += absl::StrFormat(" verdict %a", *score.verdict);
  for (const Contribution& c : score.contributions) {
    text += absl::StrFormat(" | channel %d share %a observed %a expected %a",
                            c.channel, c.share, c.observed, c.expected);
  }
  for (const PointedInstant& p : score.points_back_to) {
    text +=
        absl::StrFormat(" | at %d lag %d (%a s) weight %a channel %d",
                        p.time_ns, p.lag, p.lag_seconds, p.weight, p.channel);
    if (!std::isnan(p.masking_change)) {
      text += absl::StrFormat(" masking %a", p.masking_change);
    }
  }
  if (score.masking) {
    text += absl::StrFormat(" | masking of %d: %a, random %a",
                            score.masking->instants, score.masking->pointed,
                            score.masking->random);
  }
  return text;
}

std::vector<std::string> Texts(const std::vector<InstantScore>& scores) {
  std::vector<std::string> texts;
  texts.reserve(scores.size());
  for (const InstantScore& score : scores) texts.push_back(Text(score));
  return texts;
}

int CountAlarms(const std::vector<InstantScore>& scores) {
  return static_cast<int>(
      std::ranges::count_if(scores, &InstantScore::anomaly));
}

}  // namespace telltale::model
