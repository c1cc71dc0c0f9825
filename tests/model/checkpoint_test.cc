#include "model/checkpoint/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/simulator/engine_channels.h"
#include "model/checkpoint/sha256.h"
#include "model/detector.h"
#include "model/input_encoding.h"
#include "model/random.h"
#include "model/scoring/calibration.h"
#include "tests/support/plant.h"

namespace telltale::model {
namespace {

using testing::HasSubstr;

// A checkpoint for these channels that was calibrated, but not trained.
Checkpoint MakeCheckpoint(const data::ChannelSet& channels,
                          EncoderConfig config, int64_t held_out) {
  Scaler scaler;
  Random random(5);
  for (int c = 0; c < channels.size(); ++c) {
    scaler.center.push_back(static_cast<float>(random.Normal()));
    scaler.scale.push_back(static_cast<float>(0.1 + random.Uniform()));
  }
  const InputEncoding encoding(channels, scaler);
  config.input_width = encoding.width();
  config.targets = static_cast<int>(encoding.targets().size());
  Checkpoint checkpoint{.channels = channels,
                        .cadence_ns = 250'000'000,
                        .config = config,
                        .parameters = Parameters(config, encoding.stand_ins()),
                        .scaler = scaler};
  checkpoint.parameters.Initialize(7);
  SegmentResiduals segment;
  segment.residuals.Resize(held_out, config.forecast_width());
  for (float& r : segment.residuals.floats()) {
    r = static_cast<float>(random.Normal());
  }
  segment.samples.Resize(held_out, config.targets);
  for (float& x : segment.samples.floats()) x = random.Below(3) == 0 ? 1 : 0;
  Calibrate({&segment, 1}, 5, checkpoint);
  checkpoint.training_record = R"({"seed":7})";
  checkpoint.card = R"({"intended_use":"tests"})";
  return checkpoint;
}

Checkpoint PlantModel() {
  return MakeCheckpoint(PlantSeries(1, 2).channels, PlantTraining().encoder,
                        500);
}

class CheckpointTest : public testing::Test {
 public:
  ~CheckpointTest() override { std::filesystem::remove(path_); }

 protected:
  CheckpointTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(testing::TempDir()) /
            (std::string("telltale-checkpoint-") + test->name());
  }

  absl::Status LoadBytes(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    return Checkpoint::Load(path_).status();
  }
  // Loads the model with its file changed.
  template <typename Change>
  absl::Status LoadChanged(const Change& change) const {
    TensorFile file = PlantModel().ToFile();
    change(file);
    return LoadBytes(file.Serialize().value());
  }

  std::filesystem::path path_;
};

TEST_F(CheckpointTest, LoadsAllThatWasSaved) {
  const Checkpoint saved = PlantModel();
  ASSERT_TRUE(saved.Save(path_).ok());
  std::string version;
  const auto loaded = Checkpoint::Load(path_, &version);
  ASSERT_TRUE(loaded.ok()) << loaded.status();

  EXPECT_EQ(loaded->channels, saved.channels);
  EXPECT_EQ(loaded->cadence_ns, saved.cadence_ns);
  EXPECT_EQ(EncoderConfigToJson(loaded->config),
            EncoderConfigToJson(saved.config));
  for (const NamedTensor& tensor : saved.parameters.tensors()) {
    const NamedTensor* other = loaded->parameters.Find(tensor.name);
    ASSERT_NE(other, nullptr);
    EXPECT_TRUE(std::ranges::equal(saved.parameters.Tensor(tensor),
                                   loaded->parameters.Tensor(*other)))
        << tensor.name;
  }
  EXPECT_EQ(loaded->scaler.center, saved.scaler.center);
  EXPECT_EQ(loaded->scaler.scale, saved.scaler.scale);
  EXPECT_EQ(loaded->lagged_combined.values(), saved.lagged_combined.values());
  EXPECT_EQ(loaded->lagged_threshold.threshold,
            saved.lagged_threshold.threshold);
  EXPECT_EQ(loaded->combined.values(), saved.combined.values());
  EXPECT_EQ(loaded->threshold.threshold, saved.threshold.threshold);
  EXPECT_EQ(loaded->threshold.budget_per_10k, saved.threshold.budget_per_10k);
  EXPECT_EQ(loaded->threshold.instants, saved.threshold.instants);
  EXPECT_EQ(loaded->threshold.events, saved.threshold.events);
  EXPECT_EQ(loaded->threshold.low_per_10k, saved.threshold.low_per_10k);
  EXPECT_EQ(loaded->threshold.high_per_10k, saved.threshold.high_per_10k);
  EXPECT_EQ(loaded->nominal_scores, saved.nominal_scores);
  EXPECT_EQ(loaded->training_record, saved.training_record);
  EXPECT_EQ(loaded->card, saved.card);
  EXPECT_TRUE(loaded->ToFile() == saved.ToFile());
}

TEST_F(CheckpointTest, VersionIsTheHashOfTheFile) {
  ASSERT_TRUE(PlantModel().Save(path_).ok());
  std::ifstream stream(path_, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  std::string version;

  ASSERT_TRUE(Checkpoint::Load(path_, &version).ok());

  EXPECT_EQ(version, Sha256Hex(bytes).value());
}

TEST_F(CheckpointTest, OfADefaultModelForTwelveChannelsIsUnderAMebibyte) {
  const Checkpoint checkpoint =
      MakeCheckpoint(data::EngineChannels(), EncoderConfig{}, 30'000);
  ASSERT_EQ(checkpoint.channels.size(), 12);
  ASSERT_EQ(checkpoint.nominal_scores.size(), 20'000);

  EXPECT_LT(checkpoint.ToFile().Serialize().value().size(), 1U << 20);
}

TEST_F(CheckpointTest, SaysThatAFileIsNotThere) {
  const auto loaded = Checkpoint::Load(path_);

  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(loaded.status().message()),
              HasSubstr(path_.string()));
}

TEST_F(CheckpointTest, RefusesTruncationAtAnyByte) {
  const std::string bytes = PlantModel().ToFile().Serialize().value();
  // Each of the first bytes, then some four hundred more.
  for (size_t size = 0; size < bytes.size();
       size += size < 64 ? 1 : std::max<size_t>(1, bytes.size() / 400)) {
    const absl::Status status = LoadBytes(bytes.substr(0, size));
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << size;
    ASSERT_THAT(std::string(status.message()), HasSubstr(path_.string()));
  }
  EXPECT_EQ(LoadBytes(bytes + "x").code(), absl::StatusCode::kDataLoss);
}

TEST_F(CheckpointTest, SurvivesFlippedBits) {
  const std::string bytes = PlantModel().ToFile().Serialize().value();
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), 8);
  Random random(3);
  int refused = 0;
  for (int round = 0; round < 1500; ++round) {
    // Mostly in the header, which has the most to break.
    const size_t limit = round % 4 == 0 ? bytes.size() : 8 + header_bytes;
    std::string damaged = bytes;
    const auto at =
        static_cast<size_t>(random.Below(static_cast<int64_t>(limit)));
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random.Below(8)));

    const absl::Status status = LoadBytes(damaged);

    if (status.ok()) continue;  // another number, or letter of a name
    ++refused;
    EXPECT_TRUE(status.code() == absl::StatusCode::kDataLoss ||
                status.code() == absl::StatusCode::kFailedPrecondition)
        << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path_.string()));
  }
  EXPECT_GT(refused, 700);
}

TEST_F(CheckpointTest, RefusesAnotherFormatVersion) {
  for (const char* version : {"0", "1", "2.0", "99999999999999999999", "x"}) {
    const absl::Status status = LoadChanged(
        [&](TensorFile& file) { file.metadata["format_version"] = version; });
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << version;
    EXPECT_THAT(std::string(status.message()), HasSubstr("format version"));
    EXPECT_THAT(std::string(status.message()), HasSubstr(path_.string()));
  }
}

TEST_F(CheckpointTest, RefusesASafetensorsFileThatIsNoModel) {
  TensorFile file;
  file.tensors["weight"] = StoredTensor::Of({2}, std::vector<float>{1, 2});
  const absl::Status status = LoadBytes(file.Serialize().value());

  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is this a Telltale"));
}

TEST_F(CheckpointTest, RefusesAnyTensorMissingMisshapenOrNotFinite) {
  const TensorFile file = PlantModel().ToFile();
  for (const auto& [name, tensor] : file.tensors) {
    const std::string wanted = name;
    const absl::Status missing = LoadChanged(
        [&](TensorFile& changed) { changed.tensors.erase(wanted); });
    EXPECT_EQ(missing.code(), absl::StatusCode::kDataLoss) << wanted;
    EXPECT_THAT(std::string(missing.message()), HasSubstr(wanted));

    const absl::Status not_finite = LoadChanged([&](TensorFile& changed) {
      changed.tensors[wanted].values.back() = std::nanf("");
    });
    EXPECT_EQ(not_finite.code(), absl::StatusCode::kDataLoss) << wanted;
    EXPECT_THAT(std::string(not_finite.message()), HasSubstr(wanted));

    if (wanted == "calibration.nominal_scores") continue;  // any length
    const absl::Status longer = LoadChanged([&](TensorFile& changed) {
      StoredTensor& t = changed.tensors[wanted];
      t.shape = {static_cast<int64_t>(t.values.size()) + 1};
      t.values.push_back(0);
    });
    EXPECT_EQ(longer.code(), absl::StatusCode::kDataLoss) << wanted;
  }
}

TEST_F(CheckpointTest, KnowsTheInstantsThatItWasTrainedOn) {
  Checkpoint saved = PlantModel();
  saved.instants.Add(PlantSeries(1, 300));
  ASSERT_FALSE(saved.instants.empty());
  ASSERT_TRUE(saved.Save(path_).ok());

  const auto loaded = Checkpoint::Load(path_);

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->instants.Values(), saved.instants.Values());
}

TEST_F(CheckpointTest, RefusesInstantsOfAnotherTypeOrShape) {
  StoredTensor square;
  square.type = TensorType::kI64;
  square.shape = {1, 1};
  square.bytes = "12345678";
  for (const StoredTensor& tensor :
       {StoredTensor::Of({3}, std::vector<float>{1, 2, 3}), square}) {
    const absl::Status status = LoadChanged([&](TensorFile& file) {
      file.tensors["calibration.instants"] = tensor;
    });

    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("calibration.instants"));
  }
}

TEST_F(CheckpointTest, RefusesScalesAndDeviationsThatAreNotPositive) {
  for (const char* name : {"scaler.scale", "scoring.deviation"}) {
    const absl::Status status = LoadChanged(
        [&](TensorFile& file) { file.tensors[name].values.front() = 0; });
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr(name));
  }
}

TEST_F(CheckpointTest, RefusesATailThatIsNone) {
  const absl::Status status = LoadChanged([](TensorFile& file) {
    file.tensors["scoring.combined"].values[10] = 1e9F;
  });

  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("tail curve"));
}

TEST_F(CheckpointTest, RefusesMetadataThatDoesNotFit) {
  using Changes = std::vector<std::pair<const char*, std::string>>;
  const std::string encoder = EncoderConfigToJson(PlantModel().config);
  std::string wider = encoder;
  wider.replace(wider.find("\"input_width\":14"), 16, "\"input_width\":15");
  const Changes changes = {
      {"channels", ""},
      {"channels", "[]"},
      {"channels", "{\"name\":1}"},
      {"channels", R"([{"name":"a","unit":"","kind":"odd","vocabulary":[]}])"},
      {"channels",
       R"([{"name":"a","unit":"","kind":"continuous","vocabulary":[]}])"},
      {"cadence_ns", "0"},
      {"cadence_ns", "-5"},
      {"cadence_ns", "soon"},
      {"cadence_ns", "12x"},
      {"cadence_ns", "99999999999999999999999"},
      {"encoder", "null"},
      {"encoder", "{}"},
      {"encoder", wider},
      {"threshold", "[]"},
      {"threshold", R"({"threshold":null})"},
      {"threshold",
       R"({"threshold":1e300,"budget_per_10k":5,"instants":1,"events":1,)"
       R"("low_per_10k":0,"high_per_10k":1})"},
      {"threshold",
       R"({"threshold":1,"budget_per_10k":5,"instants":1e300,"events":-1e300,)"
       R"("low_per_10k":0,"high_per_10k":1})"},
      {"training", "{"},
      {"training", ""},
      {"card", "[1]"}};
  for (const auto& [key, value] : changes) {
    const absl::Status status = LoadChanged(
        [&, k = key, v = value](TensorFile& file) { file.metadata[k] = v; });
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss)
        << key << " = " << value << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path_.string()));
  }
}

TEST_F(CheckpointTest, AsksForNoMoreMemoryThanItsFileAnswersFor) {
  // Claims of an encoder of gigabytes, in a file of kilobytes.
  EncoderConfig config = PlantModel().config;
  config.width = 4096;
  config.feed_forward = 16384;
  config.query_width = 512;
  config.value_width = 512;
  config.layers.resize(64, config.layers.back());
  ASSERT_TRUE(config.Validate().ok());
  const absl::Status status = LoadChanged([&](TensorFile& file) {
    file.metadata["encoder"] = EncoderConfigToJson(config);
  });

  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("more parameters than the file holds"));
}

TEST_F(CheckpointTest, SavesWholeOrNotAtAll) {
  Checkpoint checkpoint = PlantModel();
  ASSERT_TRUE(checkpoint.Save(path_).ok());
  const auto size = std::filesystem::file_size(path_);
  checkpoint.card = "not \xff UTF-8";

  EXPECT_FALSE(checkpoint.Save(path_).ok());

  EXPECT_EQ(std::filesystem::file_size(path_), size);
  EXPECT_TRUE(Checkpoint::Load(path_).ok());
  EXPECT_FALSE(checkpoint.Save("/nowhere/at/all.safetensors").ok());
}

TEST_F(CheckpointTest, ADamagedWeightNeverCrashesItsDetector) {
  // Numbers that are finite, and absurd.
  Random random(12);
  const std::string bytes = PlantModel().ToFile().Serialize().value();
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), 8);
  const data::Series series = PlantSeries(4, 120);
  const data::Window window = series.Slice(0, 120).value();
  for (int round = 0; round < 60; ++round) {
    std::string damaged = bytes;
    for (int i = 0; i < 20; ++i) {
      const auto at = static_cast<size_t>(
          random.Below(static_cast<int64_t>(bytes.size() - header_bytes - 8)));
      damaged[header_bytes + 8 + at] ^= static_cast<char>(0x40);
    }
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << damaged;
    const auto detector = Detector::Load(path_);
    if (!detector.ok()) continue;
    const auto state = (*detector)->NewStream();
    const StreamWindow work = {state.get(), &window, true};
    const auto results = (*detector)->Advance({&work, 1});
    if (!results.ok()) {
      EXPECT_EQ(results.status().code(), absl::StatusCode::kInternal);
      continue;
    }
    for (const InstantScore& score : results->front().instants) {
      EXPECT_TRUE(std::isfinite(score.score));
    }
  }
}

}  // namespace
}  // namespace telltale::model
