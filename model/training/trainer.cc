#include "model/training/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"

#include "model/encoder.h"
#include "model/positions.h"
#include "model/scoring/forecast_ledger.h"
#include "model/stream_encoder.h"

namespace telltale::model {
namespace {

// Windows of held-out telemetry that the loss is taken on: more of them where
// they are short.
constexpr int kHeldOutWindows = 48;
constexpr int kHeldOutInstants = 24'576;

// What the verdict's cross-entropy counts against the forecasts' squared error.
constexpr double kVerdictLoss = 1;
// Evaluations of the held-out loss in a whole training, and how many may pass
// without a better one before training ends early.
constexpr int kEvaluations = 25;
constexpr int kPatience = 12;

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

absl::Status NothingToKeep(bool stopped, double learning_rate) {
  if (stopped) {
    return absl::CancelledError(
        "training was stopped before there were parameters worth keeping");
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "no held-out loss was finite: the held-out telemetry has no samples to "
      "forecast, or the learning rate of %g is too high",
      learning_rate));
}

}  // namespace

struct Trainer::Worker {
  explicit Worker(const Checkpoint& checkpoint)
      : encoder(checkpoint.config, checkpoint.parameters) {}

  Encoder encoder;
  std::unique_ptr<Context> context;  // made on the worker's own thread
  EncoderActivations activations;
  TrainingWindow window;
  Matrix dforecast, dx;
};

Trainer::Trainer(std::span<const data::Series> segments,
                 const FaultLabels& labels, const TrainingOptions& options,
                 Checkpoint& checkpoint)
    : segments_(segments),
      labels_(labels),
      options_(options),
      checkpoint_(checkpoint),
      encoding_(checkpoint.channels, checkpoint.scaler),
      sampler_(segments, checkpoint.cadence_ns, checkpoint.config, encoding_,
               labels, options.input_noise),
      window_length_(options.window > 0
                         ? options.window
                         : 2 * checkpoint.config.context_length()),
      gradients_(checkpoint.config, encoding_.stand_ins()),
      optimiser_(checkpoint.config, encoding_.stand_ins(),
                 options.weight_decay),
      pool_(options.threads) {
  for (int i = 0; i < options.batch; ++i) {
    window_gradients_.emplace_back(checkpoint.config, encoding_.stand_ins());
  }
  for (int i = 0; i < options.threads; ++i) {
    workers_.push_back(std::make_unique<Worker>(checkpoint));
  }
}

Trainer::~Trainer() = default;

absl::StatusOr<Trainer::Outcome> Trainer::Run(
    std::span<const Range> training, std::span<const Range> held_out, int steps,
    const ProgressFunction& progress) {
  Random random(options_.seed ^ 0x7e11);
  sampling_.emplace(sampler_, labels_, training, window_length_);
  std::vector<Range> windows;
  const int count =
      std::max(kHeldOutWindows, kHeldOutInstants / window_length_);
  for (int i = 0; i < count && !held_out.empty(); ++i) {
    windows.push_back(sampler_.Draw(held_out, window_length_, random));
  }
  const int period = std::max(1, steps / kEvaluations);
  const auto start = Clock::now();
  Parameters best(checkpoint_.config, encoding_.stand_ins());
  Outcome outcome;
  outcome.held_out_loss = std::numeric_limits<double>::quiet_NaN();
  int since_best = 0;
  for (int step = 0; step < steps; ++step) {
    const double loss = TrainingStep(step, steps);
    const double keep = std::min(0.95, static_cast<double>(step) / (step + 1));
    outcome.loss = keep * outcome.loss + (1 - keep) * loss;
    outcome.steps = step + 1;
    if ((step + 1) % period == 0 || step + 1 == steps) {
      const double held_out_loss = HeldOutLoss(windows);
      ++since_best;
      // Whichever is the first, and never what has diverged.
      if (std::isfinite(held_out_loss) &&
          !(held_out_loss >= outcome.held_out_loss)) {
        outcome.held_out_loss = held_out_loss;
        outcome.best_step = outcome.steps;
        best.CopyFrom(checkpoint_.parameters);
        since_best = 0;
      }
    }
    const double seconds = SecondsSince(start);
    const double per_step = seconds / outcome.steps;
    const TrainingProgress report = {
        .step = outcome.steps,
        .steps = steps,
        .loss = outcome.loss,
        .held_out_loss = outcome.held_out_loss,
        .instants_per_second = options_.batch * window_length_ / per_step,
        .seconds_left = per_step * (steps - outcome.steps)};
    outcome.stopped = progress && !progress(report);
    if (outcome.stopped || since_best >= kPatience) break;
  }
  outcome.seconds = SecondsSince(start);
  if (outcome.best_step == 0) {
    return NothingToKeep(outcome.stopped, options_.learning_rate);
  }
  checkpoint_.parameters.CopyFrom(best);
  return outcome;
}

double Trainer::TrainingStep(int step, int steps) {
  // Each window draws from its own sequence, whoever computes it.
  const auto seed = [&](int i) {
    return Random(options_.seed * 0x9e3779b97f4a7c15U +
                  static_cast<uint64_t>(step) * 65537 +
                  static_cast<uint64_t>(i))
        .Next();
  };
  std::vector<Loss> losses(static_cast<size_t>(options_.batch));
  pool_.Run(options_.batch, [&](int worker, int i) {
    Random random(seed(i));
    const Range range = sampling_->Draw(random);
    Parameters& gradients = window_gradients_[static_cast<size_t>(i)];
    gradients.SetZero();
    losses[static_cast<size_t>(i)] = Evaluate(
        *workers_[static_cast<size_t>(worker)], range, &random, &gradients);
  });
  gradients_.SetZero();
  Loss total;
  for (int i = 0; i < options_.batch; ++i) {
    const auto values = window_gradients_[static_cast<size_t>(i)].values();
    for (size_t k = 0; k < values.size(); ++k) {
      gradients_.values()[k] += values[k];
    }
    total.Add(losses[static_cast<size_t>(i)]);
  }
  ClipNorm(gradients_, options_.clip_norm);
  optimiser_.Step(
      LearningRate(options_.learning_rate, step, options_.warm_up_steps, steps),
      gradients_, checkpoint_.parameters);
  return total.Mean();
}

void Trainer::Loss::Add(const Loss& other) {
  sum += other.sum;
  count += other.count;
  verdict_sum += other.verdict_sum;
  verdict_count += other.verdict_count;
}

double Trainer::Loss::Mean() const {
  return sum / static_cast<double>(std::max<int64_t>(1, count)) +
         kVerdictLoss * verdict_sum /
             static_cast<double>(std::max<int64_t>(1, verdict_count));
}

double Trainer::HeldOutLoss(std::span<const Range> windows) {
  std::vector<Loss> losses(windows.size());
  pool_.Run(static_cast<int>(windows.size()), [&](int worker, int i) {
    losses[static_cast<size_t>(i)] =
        Evaluate(*workers_[static_cast<size_t>(worker)],
                 windows[static_cast<size_t>(i)], nullptr, nullptr);
  });
  Loss total;
  for (const Loss& loss : losses) total.Add(loss);
  // Never the best when there is nothing to forecast.
  if (total.count == 0) return std::numeric_limits<double>::quiet_NaN();
  return total.Mean();
}

Trainer::Loss Trainer::Evaluate(Worker& worker, const Range& range,
                                Random* random, Parameters* gradients) {
  if (worker.context == nullptr) worker.context = std::make_unique<Context>();
  TrainingWindow& window = worker.window;
  sampler_.Fill(range, checkpoint_.parameters.stand_in(), random, window);
  worker.encoder.Forward(*worker.context, window.x.view(), window.positions,
                         worker.activations);
  worker.dforecast.Resize(range.length(), checkpoint_.config.output_width());
  Loss loss;
  JudgeForecasts(worker, loss);
  if (checkpoint_.config.verdict) JudgeVerdicts(worker, loss);
  if (gradients == nullptr) return loss;
  worker.dx.Resize(window.x.rows(), window.x.columns());
  worker.encoder.Backward(*worker.context, worker.activations,
                          worker.dforecast.view(), *gradients,
                          worker.dx.view());
  for (int64_t t = 0; t < window.x.rows(); ++t) {
    encoding_.AddGradients(window.x.Row(t), worker.dx.Row(t),
                           gradients->stand_in());
  }
  return loss;
}

void Trainer::JudgeForecasts(Worker& worker, Loss& loss) const {
  const int64_t width = checkpoint_.config.forecast_width();
  const auto factor =
      static_cast<float>(2.0 / (static_cast<double>(options_.batch) *
                                window_length_ * static_cast<double>(width)));
  const Matrix& target = worker.window.target;
  for (int64_t t = 0; t < target.rows(); ++t) {
    const float* forecast = worker.activations.forecast.Row(t);
    for (int64_t i = 0; i < width; ++i) {
      const float wanted = target.Row(t)[i];
      const float difference = std::isnan(wanted) ? 0 : forecast[i] - wanted;
      loss.count += std::isnan(wanted) ? 0 : 1;
      loss.sum += static_cast<double>(difference) * difference;
      worker.dforecast.Row(t)[i] = factor * difference;
    }
  }
}

void Trainer::JudgeVerdicts(Worker& worker, Loss& loss) const {
  const int64_t column = checkpoint_.config.forecast_width();
  const double scale =
      kVerdictLoss / (static_cast<double>(options_.batch) * window_length_);
  for (int64_t t = 0; t < worker.dforecast.rows(); ++t) {
    const bool fault = worker.window.fault[static_cast<size_t>(t)];
    const double logit = worker.activations.forecast.Row(t)[column];
    const double weight = sampling_->Weight(fault);
    // log(1 + exp(z)) with z towards the wrong side, without overflow.
    const double wrong = fault ? -logit : logit;
    const double tail = std::exp(-std::abs(wrong));
    loss.verdict_sum += weight * (std::max(wrong, 0.0) + std::log1p(tail));
    ++loss.verdict_count;
    const double probability = (wrong > 0 ? 1 : tail) / (1 + tail);
    worker.dforecast.Row(t)[column] = static_cast<float>(
        scale * weight * (fault ? -probability : probability));
  }
}

SegmentResiduals Trainer::Residuals(const Range& range,
                                    std::vector<float>* logits) {
  const data::Series& series = segments_[static_cast<size_t>(range.segment)];
  const EncoderConfig& config = checkpoint_.config;
  const int width = config.forecast_width();
  const auto forecasts = static_cast<size_t>(width);
  SegmentResiduals segment;
  segment.residuals.Resize(range.length(), width);
  segment.changes.Resize(range.length(), config.targets);
  segment.samples.Resize(range.length(), config.targets);
  pool_.Run(1, [&](int index, int) {
    Worker& worker = *workers_[static_cast<size_t>(index)];
    if (worker.context == nullptr) {
      worker.context = std::make_unique<Context>();
    }
    StreamEncoder encoder(*worker.context, config, checkpoint_.parameters);
    KvCache cache(config, 0);
    ForecastLedger ledger(config);
    Matrix x(kTileRows, encoding_.width());
    Matrix forecast(kTileRows, config.output_width());
    std::vector<double> positions(kTileRows);
    std::vector<float> targets(static_cast<size_t>(config.targets));
    std::vector<int64_t> made_at(config.horizons.size());
    for (int begin = range.begin; begin < range.end; begin += kTileRows) {
      const int n = std::min(kTileRows, range.end - begin);
      for (int i = 0; i < n; ++i) {
        const int instant = begin + i;
        positions[static_cast<size_t>(i)] =
            Position(series.time_ns[static_cast<size_t>(instant)],
                     checkpoint_.cadence_ns);
        encoding_.Encode(series.Instant(instant),
                         checkpoint_.parameters.stand_in(), x.Row(i));
      }
      StreamRows rows;
      rows.cache = &cache;
      rows.x = x.view().Rows(0, n);
      rows.positions = std::span(positions).first(static_cast<size_t>(n));
      rows.forecast = forecast.view().Rows(0, n);
      encoder.Advance({&rows, 1});
      for (int i = 0; i < n; ++i) {
        const int64_t t = begin + i - range.begin;
        const double position = positions[static_cast<size_t>(i)];
        encoding_.ScaleTargets(series.Instant(begin + i), targets);
        std::ranges::copy(targets, segment.samples.Row(t));
        ledger.Residuals(t, position, targets,
                         std::span(segment.residuals.Row(t), forecasts),
                         made_at);
        const int reference = config.reference_horizon();
        ledger.Change(made_at[static_cast<size_t>(reference)], reference,
                      std::span(segment.changes.Row(t), targets.size()));
        const std::span<float> forecast_row(forecast.Row(i), forecasts);
        encoding_.AddAnchor(series.Instant(begin + i), x.Row(i), forecast_row);
        ledger.Record(t, position, forecast_row, targets);
        if (logits != nullptr) logits->push_back(forecast.Row(i)[width]);
      }
    }
  });
  return segment;
}

}  // namespace telltale::model
