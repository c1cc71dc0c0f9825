#include "tests/support/fake_detector.h"

#include <cmath>
#include <deque>
#include <utility>

namespace telltale::testing {
namespace {

using model::InstantScore;
using model::InstantState;

struct Remembered {
  int64_t time_ns = 0;
  float mean = 0;
};

class FakeState final : public model::StreamState {
 public:
  explicit FakeState(int64_t count) : count_(count) {}

  int64_t instant_count() const override { return count_; }
  int64_t last_time_ns() const override { return memory_.back().time_ns; }
  std::string Save() const override { return "unused"; }

  const std::deque<Remembered>& memory() const { return memory_; }

  void Remember(int64_t time_ns, float mean) {
    memory_.push_back({time_ns, mean});
    if (memory_.size() > FakeDetector::kMemory) memory_.pop_front();
    ++count_;
  }

 private:
  int64_t count_;
  std::deque<Remembered> memory_;
};

float MeanOf(std::span<const float> samples, int& missing) {
  float sum = 0;
  for (const float sample : samples) {
    if (std::isnan(sample)) {
      ++missing;
    } else {
      sum += sample;
    }
  }
  return sum / static_cast<float>(samples.size());
}

void PointBack(const FakeState& state, int64_t time_ns, InstantScore& score) {
  const auto& memory = state.memory();
  for (size_t i = 0; i < memory.size(); ++i) {
    const Remembered& earlier = memory[memory.size() - 1 - i];
    score.points_back_to.push_back(
        {.time_ns = earlier.time_ns,
         .lag = static_cast<int>(i) + 1,
         .lag_seconds = static_cast<double>(time_ns - earlier.time_ns) * 1e-9,
         .weight = 1.0F / static_cast<float>(i + 2),
         .channel = 0});
  }
}

// What the strongest instant pointed back to is said to be worth.
void Check(InstantScore& score) {
  if (score.points_back_to.empty()) return;
  score.masking = {.instants = 1, .pointed = 2.5F, .random = 0.5F};
  score.points_back_to.front().masking_change = 2.5F;
}

InstantScore ScoreInstant(const FakeState& state, int64_t time_ns,
                          std::span<const float> samples, float mean) {
  InstantScore score;
  score.time_ns = time_ns;
  if (state.instant_count() < 2) return score;
  float expected = 0;
  for (const Remembered& earlier : state.memory()) expected += earlier.mean;
  expected /= static_cast<float>(state.memory().size());
  score.state = InstantState::kScored;
  score.score = std::fabs(mean - expected) / 10 +
                static_cast<float>(state.instant_count() % 97) * 1e-4F;
  score.probability = 1 - std::pow(10.0F, -score.score);
  score.anomaly = score.score > FakeDetector::kThreshold;
  if (score.anomaly) {
    score.severity = model::Severity::kWarning;
    PointBack(state, time_ns, score);
  }
  const size_t shown = score.anomaly ? samples.size() : 1;
  for (size_t c = 0; c < shown; ++c) {
    score.contributions.push_back(
        {.channel = static_cast<int>(c),
         .share = 1.0F / static_cast<float>(samples.size()),
         .observed = samples[c],
         .expected = expected});
  }
  return score;
}

model::WindowScore ScoreWindow(const model::StreamWindow& stream) {
  auto& state = static_cast<FakeState&>(*stream.state);
  model::WindowScore result;
  model::AttentionRows rows{.layer = 0,
                            .head_count = 1,
                            .query_time_ns = {},
                            .key_time_ns = {},
                            .weights = {},
                            .nothing = {}};
  for (const Remembered& earlier : state.memory()) {
    rows.key_time_ns.push_back(earlier.time_ns);
  }
  const size_t before = rows.key_time_ns.size();
  for (int t = 0; t < stream.window->length(); ++t) {
    const int64_t time_ns = stream.window->time_ns()[t];
    if (!state.memory().empty() && time_ns <= state.last_time_ns()) continue;
    int missing = 0;
    const float mean = MeanOf(stream.window->Instant(t), missing);
    result.instants.push_back(
        ScoreInstant(state, time_ns, stream.window->Instant(t), mean));
    result.instants.back().missing = missing;
    if (stream.with_masking) Check(result.instants.back());
    state.Remember(time_ns, mean);
    rows.key_time_ns.push_back(time_ns);
    rows.query_time_ns.push_back(time_ns);
  }
  if (!stream.with_attention) return result;
  // Every query attends to itself alone.
  const size_t keys = rows.key_time_ns.size();
  rows.weights.assign(rows.query_time_ns.size() * keys, 0);
  rows.nothing.assign(rows.query_time_ns.size(), 0);
  for (size_t q = 0; q < rows.query_time_ns.size(); ++q) {
    rows.weights[q * keys + before + q] = 1;
  }
  result.attention.push_back(std::move(rows));
  return result;
}

}  // namespace

void DetectorControl::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

void DetectorControl::Open() {
  const std::lock_guard lock(mutex_);
  closed_ = false;
  changed_.notify_all();
}

void DetectorControl::AwaitCalls(int count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this, count] {
    return static_cast<int>(batch_sizes_.size()) >= count;
  });
}

void DetectorControl::FailNext(absl::Status status) {
  const std::lock_guard lock(mutex_);
  next_ = std::move(status);
}

std::vector<int> DetectorControl::batch_sizes() const {
  const std::lock_guard lock(mutex_);
  return batch_sizes_;
}

absl::Status DetectorControl::Enter(int windows) {
  std::unique_lock lock(mutex_);
  batch_sizes_.push_back(windows);
  changed_.notify_all();
  changed_.wait(lock, [this] { return !closed_; });
  return std::exchange(next_, absl::OkStatus());
}

std::unique_ptr<const model::Detector> FakeDetector::Make(Options options) {
  return std::unique_ptr<const model::Detector>(
      new FakeDetector(std::move(options)));
}

FakeDetector::FakeDetector(Options options)
    : control_(std::move(options.control)) {
  description_.name = options.name;
  description_.version = std::string(64, 'f');
  description_.channels =
      data::ChannelSet::Create(std::move(options.channels)).value();
  description_.cadence_ns = 1'000'000'000;
  description_.context_length = kMemory;
  description_.horizons = {1};
  description_.layer_count = 1;
  description_.head_count = 1;
  description_.parameter_count = 1;
  description_.threshold = kThreshold;
  description_.training_record = "{}";
}

std::unique_ptr<model::StreamState> FakeDetector::NewStream(
    int64_t instant_count) const {
  return std::make_unique<FakeState>(instant_count);
}

absl::StatusOr<std::unique_ptr<model::StreamState>> FakeDetector::RestoreStream(
    std::string_view /*bytes*/) const {
  return absl::UnimplementedError("the service rebuilds streams by replay");
}

absl::StatusOr<std::vector<model::WindowScore>> FakeDetector::Advance(
    std::span<const model::StreamWindow> windows) const {
  if (control_ != nullptr) {
    const absl::Status status =
        control_->Enter(static_cast<int>(windows.size()));
    if (!status.ok()) return status;
  }
  std::vector<model::WindowScore> scores;
  scores.reserve(windows.size());
  for (const model::StreamWindow& window : windows) {
    scores.push_back(ScoreWindow(window));
  }
  return scores;
}

}  // namespace telltale::testing
