#include "server/cli/train_config.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/channels.h"

namespace telltale::server {
namespace {

using ::telltale::testing::MakeChannel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ErrorOf(std::string_view text) {
  const auto config = ParseTrainConfig(text, "train.toml");
  EXPECT_FALSE(config.ok()) << text;
  return std::string(config.status().message());
}

TEST(TrainConfig, IsTheDefaultsWhenEmpty) {
  const auto config = ParseTrainConfig("", "train.toml");

  ASSERT_TRUE(config.ok()) << config.status();
  const model::TrainingOptions defaults;
  EXPECT_EQ(config->options.seed, defaults.seed);
  EXPECT_EQ(config->options.encoder.width, defaults.encoder.width);
  EXPECT_EQ(config->false_alarms.events, 5);
}

TEST(TrainConfig, ReadsEverySection) {
  const auto config = ParseTrainConfig(R"(
[training]
seed = 7
steps = 500
learning_rate = 1e-3
held_out = 0.5
clip_norm = 2          # a whole number is a number
false_alarms = "2/day"

[encoder]
width = 16
rotary = false
horizons = [1, 4]

[[encoder.layers]]
reach = 8
[[encoder.layers]]
key_source = "stem"
reach = 64
blind_heads = 1
blind_span = 4

[evidence]
novelty = false

[channels."valve command"]
kind = "discrete"
unit = "-"
vocabulary = { open = 1, shut = 0 }

[channels.mode]
kind = "discrete"
vocabulary = [3, 1, 2]
)",
                                       "train.toml");

  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->options.seed, 7);
  EXPECT_EQ(config->options.steps, 500);
  EXPECT_DOUBLE_EQ(config->options.learning_rate, 1e-3);
  EXPECT_DOUBLE_EQ(config->options.clip_norm, 2);
  EXPECT_TRUE(config->false_alarms.per_day);
  const model::EncoderConfig& encoder = config->options.encoder;
  EXPECT_EQ(encoder.width, 16);
  EXPECT_FALSE(encoder.rotary);
  EXPECT_THAT(encoder.horizons, ElementsAre(1, 4));
  ASSERT_EQ(encoder.layers.size(), 2);
  EXPECT_EQ(encoder.layers[0].key_source, model::KeySource::kLayer);
  EXPECT_EQ(encoder.layers[1].key_source, model::KeySource::kStem);
  EXPECT_EQ(encoder.layers[1].blind_span, 4);
  EXPECT_FALSE(config->options.evidence.novelty);
  EXPECT_TRUE(config->options.evidence.absence);
  ASSERT_EQ(config->channels.size(), 2);
  EXPECT_THAT(config->channels[0].vocabulary,
              ElementsAre(data::Symbol{1, "1"}, data::Symbol{2, "2"},
                          data::Symbol{3, "3"}));
  EXPECT_THAT(config->channels[1].vocabulary,
              ElementsAre(data::Symbol{0, "shut"}, data::Symbol{1, "open"}));
}

TEST(TrainConfig, NamesThePlaceOfAnUnknownKey) {
  EXPECT_THAT(ErrorOf("\n[training]\nstepz = 5\n"),
              StartsWith("train.toml:3:1: [training] has no setting 'stepz'"));
  EXPECT_THAT(ErrorOf("steps = 5\n"), StartsWith("train.toml:1:1: "));
  EXPECT_THAT(ErrorOf("[channels.a]\ncolour = \"red\"\n"),
              StartsWith("train.toml:2:1: "));
  EXPECT_THAT(ErrorOf("[[encoder.layers]]\nreech = 4\n"),
              StartsWith("train.toml:2:1: "));
}

TEST(TrainConfig, NamesThePlaceOfAValueOfTheWrongKind) {
  EXPECT_THAT(ErrorOf("[training]\nsteps = \"many\"\n"),
              StartsWith("train.toml:2:9: steps: expected a whole number"));
  EXPECT_THAT(ErrorOf("[training]\nsteps = 1.5\n"),
              HasSubstr("steps: expected a whole number"));
  EXPECT_THAT(ErrorOf("[training]\nsteps = -1\n"), HasSubstr("from 0 to"));
  EXPECT_THAT(ErrorOf("[training]\nlearning_rate = nan\n"),
              HasSubstr("expected a number from"));
  EXPECT_THAT(ErrorOf("[training]\nlearning_rate = true\n"),
              HasSubstr("expected a number from"));
  EXPECT_THAT(ErrorOf("[training]\nfalse_alarms = 5\n"),
              HasSubstr("expected text"));
  EXPECT_THAT(ErrorOf("[training]\nfalse_alarms = \"5/week\"\n"),
              StartsWith("train.toml:2:16: '5/week'"));
  EXPECT_THAT(ErrorOf("[encoder]\nrotary = 1\n"), HasSubstr("true or false"));
  EXPECT_THAT(ErrorOf("[encoder]\nhorizons = []\n"), HasSubstr("not empty"));
  EXPECT_THAT(ErrorOf("[encoder]\nhorizons = [1, \"2\"]\n"),
              HasSubstr("whole number"));
  EXPECT_THAT(ErrorOf("training = 5\n"), HasSubstr("not a table"));
}

TEST(TrainConfig, RefusesAnEncoderThatCannotBe) {
  EXPECT_THAT(ErrorOf("[encoder]\nquery_width = 7\n"),
              HasSubstr("rotary positions need it even"));
  EXPECT_THAT(ErrorOf("[encoder]\nhorizons = [8, 1]\n"), HasSubstr("rise"));
  EXPECT_THAT(ErrorOf("[encoder]\nlayers = []\n"),
              HasSubstr("[[encoder.layers]]"));
  EXPECT_THAT(
      ErrorOf("[[encoder.layers]]\nkey_source = \"roots\"\nreach = 4\n"),
      StartsWith("train.toml:2:14: key_source is 'roots'"));
}

TEST(TrainConfig, RefusesAVocabularyThatIsNone) {
  const std::string discrete = "[channels.a]\nkind = \"discrete\"\n";
  for (const char* bad : {"[]", "{}", "[\"on\"]", "{ on = \"yes\" }",
                          "[1, nan]", "5", "[1, 1]"}) {
    EXPECT_THAT(ErrorOf(discrete + "vocabulary = " + bad),
                StartsWith("train.toml:3:14: vocabulary"))
        << bad;
  }
  EXPECT_THAT(ErrorOf("[channels.a]\nvocabulary = [1]"),
              HasSubstr("only a channel with kind = \"discrete\""));
  EXPECT_THAT(ErrorOf("[channels.a]\nkind = \"liquid\""), HasSubstr("liquid"));
}

TEST(TrainConfig, NamesThePlaceWhereItIsNotToml) {
  EXPECT_THAT(ErrorOf("[training]\nseed 7\n"), StartsWith("train.toml:2:"));
}

TEST(TrainConfig, MustExist) {
  EXPECT_EQ(ReadTrainConfig("no/such.toml").status().code(),
            absl::StatusCode::kNotFound);
}

std::vector<data::Series> Segments() {
  data::Series series;
  series.channels = data::ChannelSet::Create({MakeChannel("pressure", "kPa"),
                                              MakeChannel("mode", "")})
                        .value();
  series.time_ns = {0, 1, 2};
  const float none = std::numeric_limits<float>::quiet_NaN();
  series.samples = {1.5F, 2, 1.25F, none, 1, 0};
  return {series, series};
}

TEST(DeclareChannels, GivesEverySegmentTheDeclaredKinds) {
  const auto config = ParseTrainConfig(
      "[channels.mode]\nkind = \"discrete\"\nunit = \"code\"\n", "train.toml");
  std::vector<data::Series> segments = Segments();

  ASSERT_TRUE(DeclareChannels(config->channels, segments).ok());

  for (const data::Series& segment : segments) {
    const data::Channel& mode = segment.channels[1];
    EXPECT_EQ(mode.kind, data::ChannelKind::kDiscrete);
    EXPECT_EQ(mode.unit, "code");
    EXPECT_THAT(mode.vocabulary,
                ElementsAre(data::Symbol{0, "0"}, data::Symbol{2, "2"}));
    EXPECT_EQ(segment.channels[0].kind, data::ChannelKind::kContinuous);
  }
}

TEST(DeclareChannels, NamesThePlaceOfADeclarationThatDoesNotFit) {
  std::vector<data::Series> segments = Segments();
  const auto absent =
      ParseTrainConfig("\n[channels.modus]\nunit = \"\"\n", "train.toml");
  const auto other_unit =
      ParseTrainConfig("[channels.pressure]\nunit = \"bar\"\n", "train.toml");

  EXPECT_THAT(
      std::string(DeclareChannels(absent->channels, segments).message()),
      StartsWith("train.toml:2:11: the data has no channel 'modus'"));
  EXPECT_THAT(
      std::string(DeclareChannels(other_unit->channels, segments).message()),
      HasSubstr("'bar', and the data has it in 'kPa'"));
}

TEST(DeclareChannels, RefusesADiscreteChannelOfTooManyValues) {
  data::Series series;
  series.channels =
      data::ChannelSet::Create({MakeChannel("pressure", "kPa")}).value();
  for (int i = 0; i <= kMaxSymbols; ++i) {
    series.time_ns.push_back(i);
    series.samples.push_back(static_cast<float>(i));
  }
  std::vector<data::Series> segments = {series};
  const auto config = ParseTrainConfig(
      "[channels.pressure]\nkind = \"discrete\"\n", "train.toml");

  EXPECT_THAT(
      std::string(DeclareChannels(config->channels, segments).message()),
      HasSubstr("more than 256 values"));
}

}  // namespace
}  // namespace telltale::server
