#include "model/scoring/stream_scorer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"

#include "model/positions.h"
#include "model/scoring/attention_capture.h"
#include "model/scoring/byte_io.h"
#include "model/scoring/instant_readout.h"
#include "model/scoring/masking_check.h"
#include "model/scoring/verdict.h"
#include "model/scoring/verdict_attribution.h"
#include "model/stream_encoder.h"

namespace telltale::model {
namespace {

// Surprises kept: as far back as a query looks from the longest horizon, of the
// earliest alarm whose read-out counts.
int64_t SurpriseLength(const EncoderConfig& config) {
  return config.context_length() + config.horizons.back() + config.stem_taps +
         2 * kTileRows + ReadoutLog::kSpan;
}

}  // namespace

StreamMemory::StreamMemory(const StreamScorer& scorer, int64_t first_index)
    : cache(scorer.checkpoint().config, first_index),
      ledger(scorer.checkpoint().config),
      tracker(scorer.checkpoint().scoring),
      surprises(SurpriseLength(scorer.checkpoint().config)),
      readouts(InstantReadout::Length(scorer.checkpoint().config)) {}

void StreamMemory::Save(std::string& bytes) const {
  cache.Save(bytes);
  ledger.Save(bytes);
  tracker.Save(bytes);
  surprises.Save(bytes);
  readouts.Save(bytes);
  AppendBytes(&any_seen, 1, bytes);
  AppendBytes(&last_time, 1, bytes);
}

bool StreamMemory::Restore(std::string_view& bytes) {
  return cache.Restore(bytes) && ledger.Restore(bytes) &&
         tracker.Restore(bytes) && surprises.Restore(bytes) &&
         readouts.Restore(bytes) && TakeBytes(bytes, &any_seen, 1) &&
         TakeBytes(bytes, &last_time, 1);
}

// A context, an encoder and scratch for one call at a time.
class StreamScorer::Worker {
 public:
  Worker(const Checkpoint& checkpoint, const InputEncoding& encoding,
         Precision precision)
      : checkpoint_(checkpoint),
        encoding_(encoding),
        encoder_(context_, checkpoint.config, checkpoint.parameters, precision),
        targets_(static_cast<size_t>(checkpoint.config.targets)),
        residuals_(Width()),
        change_(static_cast<size_t>(checkpoint.config.targets)),
        seen_(checkpoint.scoring.residuals),
        made_at_(checkpoint.config.horizons.size()),
        evidence_(static_cast<size_t>(checkpoint.config.targets)),
        readout_(checkpoint.config),
        verdict_attribution_(checkpoint.config, encoding) {}

  absl::StatusOr<std::vector<WindowScore>> Advance(
      std::span<const MemoryWindow> windows);

 private:
  // One stream's part in the call.
  struct Lane {
    MemoryWindow window;
    WindowScore* result = nullptr;
    int next = 0;  // instant of the window
    std::optional<AttentionCapture> capture;
    // Of the current pass:
    int count = 0;
    int instants[kTileRows] = {};  // of the window
    size_t slots[kTileRows] = {};  // in result->instants
    double positions[kTileRows] = {};
    Matrix x, forecast;  // [kTileRows, ...]
  };

  size_t Width() const {
    return static_cast<size_t>(checkpoint_.config.forecast_width());
  }
  bool Gather(Lane& lane);
  absl::Status JudgeLane(Lane& lane);
  void Observe(Lane& lane, int row, int64_t index, InstantScore& score);
  void JudgeInstant(Lane& lane, int row);
  void LookBack(Lane& lane, int64_t index, InstantScore& score);
  void CheckMasking(StreamMemory& memory, int64_t query_index, size_t column,
                    int64_t index, InstantScore& score);

  const Checkpoint& checkpoint_;
  const InputEncoding& encoding_;
  Context context_;
  StreamEncoder encoder_;
  std::vector<Lane> lanes_;
  std::vector<StreamRows> rows_;
  std::vector<float> targets_, residuals_, change_;
  InstantViews seen_;
  std::vector<int64_t> made_at_;
  std::vector<ChannelEvidence> evidence_;
  InstantReadout readout_;
  VerdictAttribution verdict_attribution_;
  Matrix masked_forecasts_;
};

absl::StatusOr<std::vector<WindowScore>> StreamScorer::Worker::Advance(
    std::span<const MemoryWindow> windows) {
  std::vector<WindowScore> results(windows.size());
  lanes_.resize(windows.size());
  for (size_t i = 0; i < windows.size(); ++i) {
    Lane& lane = lanes_[i];
    lane.window = windows[i];
    lane.result = &results[i];
    lane.next = 0;
    lane.capture.reset();
    if (windows[i].with_attention) {
      lane.capture.emplace(checkpoint_.config.layers.size());
    }
    lane.x.Resize(kTileRows, encoding_.width());
    lane.forecast.Resize(kTileRows, checkpoint_.config.output_width());
  }
  while (true) {
    rows_.clear();
    for (Lane& lane : lanes_) {
      if (!Gather(lane)) continue;
      StreamRows& rows = rows_.emplace_back();
      rows.cache = &lane.window.memory->cache;
      rows.x = lane.x.view().Rows(0, lane.count);
      rows.positions = {lane.positions, static_cast<size_t>(lane.count)};
      rows.forecast = lane.forecast.view().Rows(0, lane.count);
      rows.attention = lane.capture ? lane.capture->layers() : nullptr;
    }
    if (rows_.empty()) break;
    encoder_.Advance(rows_);
    for (Lane& lane : lanes_) {
      if (auto s = JudgeLane(lane); !s.ok()) return s;
    }
  }
  for (Lane& lane : lanes_) {
    if (lane.capture) lane.result->attention = lane.capture->Assemble();
  }
  return results;
}

// Takes the next instants of a lane's window, at most a tile of them. Those
// already seen are passed over; an instant without a single sample is answered
// and left out, as if it had not been.
bool StreamScorer::Worker::Gather(Lane& lane) {
  const data::Window& window = *lane.window.window;
  StreamMemory& memory = *lane.window.memory;
  lane.count = 0;
  for (; lane.next < window.length() && lane.count < kTileRows; ++lane.next) {
    const int64_t time_ns = window.time_ns()[static_cast<size_t>(lane.next)];
    if (!memory.IsNew(time_ns)) continue;
    memory.any_seen = true;
    memory.last_time = time_ns;
    const std::span<const float> samples = window.Instant(lane.next);
    InstantScore& score = lane.result->instants.emplace_back();
    score.time_ns = time_ns;
    score.missing = static_cast<int>(
        std::ranges::count_if(samples, [](float x) { return std::isnan(x); }));
    if (score.missing == window.channel_count()) {
      score.state = InstantState::kIncomplete;
      continue;
    }
    const int row = lane.count++;
    lane.instants[row] = lane.next;
    lane.slots[row] = lane.result->instants.size() - 1;
    lane.positions[row] = Position(time_ns, checkpoint_.cadence_ns);
    encoding_.Encode(samples, checkpoint_.parameters.stand_in(),
                     lane.x.Row(row));
  }
  return lane.count > 0;
}

absl::Status StreamScorer::Worker::JudgeLane(Lane& lane) {
  StreamMemory& memory = *lane.window.memory;
  const int64_t first = memory.cache.end_index() - lane.count;
  for (int row = 0; row < lane.count; ++row) {
    const std::span<float> output(lane.forecast.Row(row),
                                  static_cast<size_t>(lane.forecast.columns()));
    const std::span<float> forecast = output.first(Width());
    encoding_.AddAnchor(lane.window.window->Instant(lane.instants[row]),
                        lane.x.Row(row), forecast);
    if (!std::ranges::all_of(output,
                             [](float x) { return std::isfinite(x); })) {
      return absl::InternalError(absl::StrFormat(
          "the forecast made at instant %d of a stream is not finite",
          first + row));
    }
    JudgeInstant(lane, row);
    memory.ledger.Record(first + row, lane.positions[row], forecast, targets_);
  }
  if (!lane.capture) return absl::OkStatus();
  const int64_t oldest = first - checkpoint_.config.context_length();
  for (int64_t i = std::max<int64_t>(0, oldest); i < first + lane.count; ++i) {
    const Surprise* known = memory.surprises.Find(i);
    if (known != nullptr) lane.capture->Name(i, known->time_ns);
  }
  return absl::OkStatus();
}

// Lets an instant meet its forecasts; what is seen then is evidence.
void StreamScorer::Worker::Observe(Lane& lane, int row, int64_t index,
                                   InstantScore& score) {
  StreamMemory& memory = *lane.window.memory;
  encoding_.ScaleTargets(lane.window.window->Instant(lane.instants[row]),
                         targets_);
  memory.ledger.Residuals(index, lane.positions[row], targets_, residuals_,
                          made_at_);
  const ResidualScoring& scoring = checkpoint_.scoring.residuals;
  memory.ledger.Change(made_at_[static_cast<size_t>(scoring.reference)],
                       scoring.reference, change_);
  memory.tracker.Observe(
      {.residuals = residuals_, .change = change_, .samples = targets_}, seen_);
  JudgeViews(checkpoint_.scoring, seen_.views, evidence_);
  if (lane.window.with_views) {
    score.views.resize(targets_.size());
    JudgeFastViews(checkpoint_.scoring, seen_.views, score.views);
    score.views.insert(score.views.end(), seen_.magnitudes.begin(),
                       seen_.magnitudes.end());
  }
  memory.surprises.Record(index, FindSurprise(scoring, encoding_.targets(),
                                              seen_.explained, score.time_ns));
}

void StreamScorer::Worker::JudgeInstant(Lane& lane, int row) {
  StreamMemory& memory = *lane.window.memory;
  const int64_t index = memory.cache.end_index() - lane.count + row;
  const std::span<const float> samples =
      lane.window.window->Instant(lane.instants[row]);
  InstantScore& score = lane.result->instants[lane.slots[row]];

  Observe(lane, row, index, score);
  const auto valid =
      std::ranges::count_if(targets_, [](float x) { return !std::isnan(x); });
  const bool any_forecast = std::ranges::any_of(
      evidence_, [](const ChannelEvidence& e) { return e.horizon >= 0; });
  if (2 * valid < checkpoint_.config.targets) {
    score.state = InstantState::kIncomplete;
    return;
  }
  if (index - memory.cache.first_index() < kWarmUp || !any_forecast) {
    score.state = InstantState::kWarmingUp;
    return;
  }
  FillVerdict(checkpoint_, evidence_, score);
  const bool by_verdict =
      checkpoint_.config.verdict &&
      AddVerdict(checkpoint_, lane.forecast.Row(row)[Width()], score);
  FillContributions(
      evidence_, encoding_.targets(), samples,
      [&](int target, int horizon) {
        const float scaled = memory.ledger.At(made_at_[static_cast<size_t>(
            horizon)])[checkpoint_.scoring.residuals.Index(horizon, target)];
        return checkpoint_.scaler.Invert(
            encoding_.targets()[static_cast<size_t>(target)], scaled);
      },
      score);
  if (by_verdict) {
    score.points_back_to = verdict_attribution_.PointBack(
        encoder_, memory.cache, memory.surprises, index, score.time_ns);
    if (lane.window.with_masking) {
      CheckMasking(memory, index, Width(), index, score);
    }
  } else if (score.anomaly) {
    LookBack(lane, index, score);
  }
}

// Explains the forecast of the channel with the largest share, made at the
// horizon, beyond the next instant where there is one, whose residual is
// largest, and ranks earlier instants together with the alarms just before.
void StreamScorer::Worker::LookBack(Lane& lane, int64_t index,
                                    InstantScore& score) {
  StreamMemory& memory = *lane.window.memory;
  const auto worst = std::ranges::find(encoding_.targets(),
                                       score.contributions.front().channel);
  const auto channel = static_cast<int>(worst - encoding_.targets().begin());
  const ResidualScoring& scoring = checkpoint_.scoring.residuals;
  // As far back as the cache holds even at the end of the longest pass, so that
  // the choice does not depend on how the stream was cut.
  const int64_t oldest = index - (memory.cache.lookback() - kTileRows);
  int chosen = -1;
  float largest = -1;
  for (int h = 0; h < scoring.horizons; ++h) {
    const int64_t made_at = made_at_[static_cast<size_t>(h)];
    const float deviations =
        std::abs(seen_.explained[scoring.Index(h, channel)]);
    if (made_at < 0 || std::isnan(deviations)) continue;
    if (made_at < oldest) continue;
    const bool next_only =
        checkpoint_.config.horizons[static_cast<size_t>(h)] == 1;
    const bool better =
        chosen < 0 || deviations > largest ||
        checkpoint_.config.horizons[static_cast<size_t>(chosen)] == 1;
    if (!better || (next_only && chosen >= 0)) continue;
    chosen = h;
    largest = deviations;
  }
  if (chosen < 0) return;
  const auto column = static_cast<int>(scoring.Index(chosen, channel));
  const int64_t made_at = made_at_[static_cast<size_t>(chosen)];
  const Readout sum = memory.readouts.Accumulate(
      index, readout_.Read(encoder_, memory.cache, made_at, column));
  score.points_back_to =
      RankEarlierInstants(sum.values, sum.first, readout_.taps(),
                          memory.surprises, index, score.time_ns);
  if (!lane.window.with_masking) return;
  CheckMasking(memory, made_at, static_cast<size_t>(column), index, score);
}

// Makes the forecast in `column` of instant `query_index`, whose residual
// alarmed at instant `index`, again without some of its keys.
void StreamScorer::Worker::CheckMasking(StreamMemory& memory,
                                        int64_t query_index, size_t column,
                                        int64_t index, InstantScore& score) {
  const EncoderConfig& config = checkpoint_.config;
  std::vector<int64_t> pointed;
  for (const PointedInstant& p : score.points_back_to) {
    pointed.push_back(index - p.lag);
  }
  // A key stands for the middle of the stem's taps.
  const int64_t shift = (config.stem_taps - 1) / 2;
  const int64_t first_key = query_index - config.layers.back().reach + 1;
  const Reachable reachable = {
      std::max(memory.cache.first_index(), first_key - shift),
      query_index - shift + 1};
  const auto plan = PlanMasking(pointed, reachable, index, config.stem_taps);
  if (!plan) return;
  masked_forecasts_.Resize(static_cast<int64_t>(plan->hidden.size()),
                           config.output_width());
  encoder_.ForecastWithout(memory.cache, query_index, plan->hidden,
                           masked_forecasts_.view());
  std::vector<float> forecasts;
  for (int64_t i = 0; i < masked_forecasts_.rows(); ++i) {
    forecasts.push_back(masked_forecasts_.Row(i)[column]);
  }
  // A logit is its own measure.
  const float deviation =
      column < Width() ? checkpoint_.scoring.residuals.deviation[column] : 1;
  FillMasking(*plan, forecasts, deviation, score);
}

StreamScorer::StreamScorer(const Checkpoint& checkpoint, Precision precision)
    : checkpoint_(checkpoint),
      precision_(precision),
      encoding_(checkpoint.channels, checkpoint.scaler) {}

StreamScorer::~StreamScorer() = default;

int StreamScorer::replay_length() const {
  // Read-outs rest on views, and views on old forecasts from a whole context.
  const EncoderConfig& config = checkpoint_.config;
  return config.receptive_field() + ViewTracker::kReplayLength +
         static_cast<int>(ReadoutLog::kSpan + ForecastLedger::Length(config) +
                          SurpriseLength(config));
}

std::unique_ptr<StreamScorer::Worker> StreamScorer::Borrow() const {
  {
    const absl::MutexLock lock(&mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Worker> worker = std::move(idle_.back());
      idle_.pop_back();
      return worker;
    }
  }
  return std::make_unique<Worker>(checkpoint_, encoding_, precision_);
}

void StreamScorer::GiveBack(std::unique_ptr<Worker> worker) const {
  const absl::MutexLock lock(&mutex_);
  idle_.push_back(std::move(worker));
}

absl::StatusOr<std::vector<WindowScore>> StreamScorer::Advance(
    std::span<const MemoryWindow> windows) const {
  Context::PrepareThread();
  std::unique_ptr<Worker> worker = Borrow();
  auto results = worker->Advance(windows);
  GiveBack(std::move(worker));
  return results;
}

}  // namespace telltale::model
