#include "model/detector.h"

#include <utility>

#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/sha256.h"
#include "model/scoring/stream_scorer.h"
#include "model/scoring/verdict_threshold.h"

namespace telltale::model {
namespace {

// A saved state: the prefix, the SHA-256 of what follows as 64 hex digits, and
// the memory's arrays.
constexpr size_t kDigestBytes = 64;

std::string StatePrefix(const ModelDescription& description) {
  return "telltale-stream-2 " + description.version + "\n";
}

// What tells a damaged state from a whole one. Empty where it cannot be had;
// such a state will not be restored.
std::string Digest(std::string_view bytes) {
  return Sha256Hex(bytes).value_or("");
}

class CheckpointStream final : public StreamState {
 public:
  CheckpointStream(const StreamScorer& scorer, std::string prefix,
                   int64_t instant_count)
      : memory(scorer, instant_count), prefix_(std::move(prefix)) {}

  int64_t instant_count() const override { return memory.end_index(); }
  int64_t last_time_ns() const override { return memory.last_time_ns(); }
  std::string Save() const override {
    std::string bytes;
    memory.Save(bytes);
    return prefix_ + Digest(bytes) + bytes;
  }

  StreamMemory memory;

 private:
  std::string prefix_;
};

class CheckpointDetector final : public Detector {
 public:
  CheckpointDetector(Checkpoint checkpoint, ModelDescription description)
      : checkpoint_(std::move(checkpoint)),
        description_(std::move(description)),
        scorer_(checkpoint_, description_.precision) {}

  const ModelDescription& description() const override { return description_; }
  int replay_length() const override { return scorer_.replay_length(); }

  std::unique_ptr<StreamState> NewStream(int64_t instant_count) const override {
    return std::make_unique<CheckpointStream>(
        scorer_, StatePrefix(description_), instant_count);
  }

  absl::StatusOr<std::unique_ptr<StreamState>> RestoreStream(
      std::string_view bytes) const override {
    const std::string prefix = StatePrefix(description_);
    auto stream =
        std::make_unique<CheckpointStream>(scorer_, prefix, int64_t{0});
    if (!bytes.starts_with(prefix)) {
      return absl::DataLossError(
          "a stream state of another model version, or none at all");
    }
    bytes.remove_prefix(prefix.size());
    const std::string_view digest = bytes.substr(0, kDigestBytes);
    bytes.remove_prefix(digest.size());
    if (digest.size() != kDigestBytes || Digest(bytes) != digest ||
        !stream->memory.Restore(bytes) || !bytes.empty()) {
      return absl::DataLossError("a stream state that is damaged");
    }
    return stream;
  }

  absl::StatusOr<std::vector<WindowScore>> Advance(
      std::span<const StreamWindow> windows) const override {
    std::vector<MemoryWindow> work;
    for (const StreamWindow& window : windows) {
      work.push_back({&static_cast<CheckpointStream*>(window.state)->memory,
                      window.window, window.with_attention, window.with_masking,
                      window.with_views});
    }
    return scorer_.Advance(work);
  }

 private:
  const Checkpoint checkpoint_;
  const ModelDescription description_;
  const StreamScorer scorer_;
};

}  // namespace

std::string VersionOf(std::string_view sha256, Precision precision) {
  if (precision == Precision::kFloat32) return std::string(sha256);
  std::string version(sha256);
  version += '-';
  version += PrecisionName(precision);
  return version;
}

absl::StatusOr<std::unique_ptr<const Detector>> Detector::Load(
    const std::filesystem::path& path, Precision precision) {
  std::string sha256;
  auto checkpoint = Checkpoint::Load(path, &sha256);
  if (!checkpoint.ok()) return checkpoint.status();
  ModelDescription description{
      .name = path.stem().string(),
      .version = VersionOf(sha256, precision),
      .precision = precision,
      .channels = checkpoint->channels,
      .cadence_ns = checkpoint->cadence_ns,
      .context_length = checkpoint->config.context_length(),
      .horizons = checkpoint->config.horizons,
      .layer_count = static_cast<int>(checkpoint->config.layers.size()),
      .head_count = checkpoint->config.heads,
      .threshold = checkpoint->threshold.threshold,
      .false_alarms_per_10k = checkpoint->threshold.budget_per_10k,
      .training_record = checkpoint->training_record};
  if (checkpoint->config.verdict) {
    description.verdict_threshold =
        VerdictProbability(checkpoint->threshold.verdict_logit);
  }
  for (const NamedTensor& tensor : checkpoint->parameters.tensors()) {
    description.parameter_count += static_cast<int64_t>(tensor.size);
  }
  return std::make_unique<const CheckpointDetector>(*std::move(checkpoint),
                                                    std::move(description));
}

}  // namespace telltale::model
