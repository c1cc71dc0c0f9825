#include "server/cli/score_pass.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace telltale::server {
namespace {

// Instants advanced over in one call.
constexpr int kWindow = 256;
// A share, in lengths of the replay that goes before it.
constexpr int kReplaysPerShare = 12;
// Without other threads to wait for.
constexpr int kSingleShare = 1024;

// Instants [begin, end) of a round, scored by one stream. It is advanced over
// [replay, begin) first.
struct Lane {
  std::unique_ptr<model::StreamState> state;
  int replay = 0, begin = 0, end = 0;
  absl::Status status;
  std::vector<model::InstantScore> scores;
};

class Pass {
 public:
  Pass(const model::Detector& detector, const ScorePassOptions& options)
      : detector_(detector),
        threads_(options.threads),
        share_(options.share > 0 ? options.share
               : options.threads > 1
                   ? kReplaysPerShare * detector.replay_length()
                   : kSingleShare),
        width_(detector.description().channels.size()),
        with_masking_(options.with_masking),
        with_views_(options.with_views),
        state_(detector.NewStream()) {}

  absl::Status Run(TelemetrySource& source, const ScoreSink& sink) {
    while (true) {
      round_ = {};
      const absl::StatusOr<int> count = source.Read(threads_ * share_, round_);
      if (!count.ok()) return count.status();
      if (*count == 0) return absl::OkStatus();
      if (absl::Status status = RunRound(sink); !status.ok()) return status;
    }
  }

 private:
  absl::Status RunRound(const ScoreSink& sink);
  std::vector<Lane> Divide();
  void Advance(Lane& lane) const;
  absl::Status AdvanceOver(Lane& lane, int begin, int end, bool keep) const;

  // An instant without a single sample leaves no trace in a stream's state.
  bool LeavesTrace(int t) const {
    const auto first = round_.samples.begin() + int64_t{t} * width_;
    return std::any_of(first, first + width_,
                       [](float x) { return !std::isnan(x); });
  }

  const model::Detector& detector_;
  const int threads_;
  const int share_;
  const int width_;
  const bool with_masking_;
  const bool with_views_;
  std::unique_ptr<model::StreamState> state_;  // at the end of the last round
  Instants round_;
};

absl::Status Pass::RunRound(const ScoreSink& sink) {
  std::vector<Lane> lanes = Divide();
  {
    std::vector<std::jthread> workers;
    for (size_t i = 1; i < lanes.size(); ++i) {
      workers.emplace_back([this, &lane = lanes[i]] { Advance(lane); });
    }
    Advance(lanes.front());
  }
  for (const Lane& lane : lanes) {
    if (!lane.status.ok()) return lane.status;
    for (const model::InstantScore& score : lane.scores) {
      if (absl::Status status = sink(score); !status.ok()) return status;
    }
  }
  state_ = std::move(lanes.back().state);
  return absl::OkStatus();
}

// The first lane goes on with the stream; each other begins where the round
// holds enough for its replay.
std::vector<Lane> Pass::Divide() {
  const int length = round_.length();
  const int replay_length = detector_.replay_length();
  std::vector<int> traces;  // instants of the round that leave one
  for (int t = 0; t < length; ++t) {
    if (LeavesTrace(t)) traces.push_back(t);
  }
  const int64_t count_before = state_->instant_count();
  std::vector<Lane> lanes(1);
  lanes.front().state = std::move(state_);
  // A short recording is shared out too, unless replay would be most of it.
  const int even = std::max((length + threads_ - 1) / threads_, replay_length);
  const int share = std::min(share_, even);
  for (int begin = share; begin < length; begin += share) {
    const auto seen =
        std::lower_bound(traces.begin(), traces.end(), begin) - traces.begin();
    if (seen < replay_length) continue;
    lanes.back().end = begin;
    const auto replayed = static_cast<size_t>(seen - replay_length);
    Lane lane;
    lane.state =
        detector_.NewStream(count_before + static_cast<int64_t>(replayed));
    lane.replay = traces[replayed];
    lane.begin = begin;
    lanes.push_back(std::move(lane));
  }
  lanes.back().end = length;
  return lanes;
}

void Pass::Advance(Lane& lane) const {
  lane.status = AdvanceOver(lane, lane.replay, lane.begin, false);
  if (!lane.status.ok()) return;
  lane.status = AdvanceOver(lane, lane.begin, lane.end, true);
}

absl::Status Pass::AdvanceOver(Lane& lane, int begin, int end,
                               bool keep) const {
  for (int t = begin; t < end; t += kWindow) {
    const int stop = std::min(end, t + kWindow);
    const auto sample = [&](int i) {
      return round_.samples.begin() + int64_t{i} * width_;
    };
    const absl::StatusOr<data::Window> window = data::Window::Create(
        {round_.time_ns.begin() + t, round_.time_ns.begin() + stop},
        {sample(t), sample(stop)}, width_);
    if (!window.ok()) return window.status();
    const model::StreamWindow work = {.state = lane.state.get(),
                                      .window = &*window,
                                      .with_masking = with_masking_ && keep,
                                      .with_views = with_views_ && keep};
    auto result = detector_.Advance({&work, 1});
    if (!result.ok()) return result.status();
    if (!keep) continue;
    for (model::InstantScore& score : result->front().instants) {
      lane.scores.push_back(std::move(score));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ScorePass(const model::Detector& detector, TelemetrySource& source,
                       const ScorePassOptions& options, const ScoreSink& sink) {
  return Pass(detector, options).Run(source, sink);
}

}  // namespace telltale::server
