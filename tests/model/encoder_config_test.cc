#include "model/encoder_config.h"

#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "tests/support/encoder_cases.h"

namespace telltale::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Refusal(const std::string& json) {
  const auto config = EncoderConfigFromJson(json);
  if (config.ok()) return "accepted";
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(config.status().message());
}

nlohmann::json SmallJson() {
  return nlohmann::json::parse(EncoderConfigToJson(SmallConfig()));
}

std::string RefusalAfter(const std::function<void(nlohmann::json&)>& change) {
  nlohmann::json json = SmallJson();
  change(json);
  return Refusal(json.dump());
}

TEST(EncoderConfigTest, SurvivesJson) {
  for (const EncoderCase& c : CausalCases()) {
    const std::string json = EncoderConfigToJson(c.config);
    const auto read = EncoderConfigFromJson(json);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(EncoderConfigToJson(*read), json) << c.name;
    EXPECT_EQ(read->receptive_field(), c.config.receptive_field());
    EXPECT_EQ(read->layers.back().key_source,
              c.config.layers.back().key_source);
    EXPECT_TRUE(read->causal);
  }
}

TEST(EncoderConfigTest, JsonHoldsEverySettingUnderItsName) {
  const nlohmann::json json = SmallJson();
  EXPECT_EQ(json["input_width"], 3);
  EXPECT_EQ(json["width"], 16);
  EXPECT_EQ(json["heads"], 4);
  EXPECT_EQ(json["query_width"], 8);
  EXPECT_EQ(json["value_width"], 4);
  EXPECT_EQ(json["feed_forward"], 24);
  EXPECT_EQ(json["stem_taps"], 3);
  EXPECT_EQ(json["stem_hidden"], 12);
  EXPECT_EQ(json["rotary"], true);
  EXPECT_EQ(json["rotary_base"], 300.0);
  EXPECT_EQ(json["distance_bias"], true);
  EXPECT_EQ(json["null_logit"], true);
  EXPECT_EQ(json["layers"][0]["key_source"], "layer");
  EXPECT_EQ(json["layers"][1]["key_source"], "stem");
  EXPECT_EQ(json["layers"][1]["reach"], 20);
  EXPECT_EQ(json["layers"][1]["blind_heads"], 2);
  EXPECT_EQ(json["layers"][1]["blind_span"], 5);
  EXPECT_EQ(json["horizons"], nlohmann::json({1, 4}));
  EXPECT_EQ(json["targets"], 3);
}

TEST(EncoderConfigTest, NamesTheFieldThatIsMissingOrOfAnotherType) {
  const nlohmann::json small = SmallJson();
  for (const auto& item : small.items()) {
    const std::string& name = item.key();
    EXPECT_THAT(RefusalAfter([&](auto& json) { json.erase(name); }),
                HasSubstr(name));
    EXPECT_THAT(RefusalAfter([&](auto& json) { json[name] = "many"; }),
                HasSubstr(name));
    EXPECT_THAT(RefusalAfter([&](auto& json) { json[name] = nullptr; }),
                HasSubstr(name));
  }
  for (const auto& item : small["layers"][0].items()) {
    const std::string& name = item.key();
    EXPECT_THAT(
        RefusalAfter([&](auto& json) { json["layers"][1].erase(name); }),
        HasSubstr(name));
  }
}

TEST(EncoderConfigTest, NamesTheSettingThatIsOutOfRange) {
  for (const char* name :
       {"input_width", "width", "heads", "query_width", "value_width",
        "feed_forward", "stem_taps", "stem_hidden", "targets"}) {
    for (const nlohmann::json& value :
         {nlohmann::json(-1), nlohmann::json(70000),
          nlohmann::json(1LL << 40)}) {
      EXPECT_THAT(RefusalAfter([&](auto& json) { json[name] = value; }),
                  HasSubstr(name))
          << value;
    }
  }
  EXPECT_THAT(RefusalAfter([](auto& json) { json["query_width"] = 7; }),
              AllOf(HasSubstr("query_width"), HasSubstr("7")));
  for (double base : {1.0, 0.0, -3.0, 1e10}) {
    EXPECT_THAT(RefusalAfter([&](auto& json) { json["rotary_base"] = base; }),
                HasSubstr("rotary_base"));
  }
}

TEST(EncoderConfigTest, NamesTheSettingOfALayerThatDoesNotFit) {
  const auto with_layer = [](const char* name, const nlohmann::json& value) {
    return RefusalAfter([&](auto& json) { json["layers"][1][name] = value; });
  };
  EXPECT_THAT(with_layer("reach", 0), HasSubstr("reach"));
  EXPECT_THAT(with_layer("reach", 65537), HasSubstr("reach"));
  EXPECT_THAT(with_layer("blind_heads", 5), HasSubstr("blind_heads"));
  EXPECT_THAT(with_layer("blind_span", 20), HasSubstr("blind_span"));
  EXPECT_THAT(with_layer("key_source", "input"),
              AllOf(HasSubstr("key_source"), HasSubstr("input")));
  EXPECT_THAT(RefusalAfter([](auto& json) { json["null_logit"] = false; }),
              AllOf(HasSubstr("blind_span"), HasSubstr("null_logit")));
  EXPECT_THAT(RefusalAfter(
                  [](auto& json) { json["layers"] = nlohmann::json::array(); }),
              HasSubstr("layers"));
  EXPECT_THAT(RefusalAfter([](auto& json) {
                json["layers"] = nlohmann::json::array_t(65, json["layers"][0]);
              }),
              HasSubstr("layers"));
  EXPECT_THAT(RefusalAfter([](auto& json) { json["layers"][0] = 3; }),
              HasSubstr("key_source"));
}

TEST(EncoderConfigTest, HorizonsMustRise) {
  const auto with_horizons = [](const nlohmann::json& horizons) {
    return RefusalAfter([&](auto& json) { json["horizons"] = horizons; });
  };
  for (const char* horizons :
       {"[]", "[0]", "[1,1]", "[4,2]", "[1025]", "[1.5]", "[-1]", "[\"1\"]",
        "[4294967297]", "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]"}) {
    EXPECT_THAT(with_horizons(nlohmann::json::parse(horizons)),
                HasSubstr("horizons"))
        << horizons;
  }
  EXPECT_EQ(with_horizons({1, 1024}), "accepted");
}

TEST(EncoderConfigTest, RefusesWhatIsNotAnObject) {
  for (const char* json : {"", "{", "[]", "3", "null", "\"x\"", "{}"}) {
    EXPECT_THAT(Refusal(json), HasSubstr("encoder configuration")) << json;
  }
}

TEST(EncoderConfigTest, CountsTheInstantsThatAForecastRestsOn) {
  // The last layer's keys reach 255 instants back to a stem of 9 taps.
  EXPECT_EQ(ShippedConfig().receptive_field(), 255 + 9);
  EXPECT_EQ(ShippedConfig().context_length(), 256);
  // Keys of layers reach through the layers below.
  EXPECT_EQ(TextbookConfig().receptive_field(), 127 + 127 + 1);
  // A long first layer under a short stem-keyed one.
  EncoderConfig config = SmallConfig();
  config.layers[0].reach = 50;
  EXPECT_EQ(config.receptive_field(), 49 + 3);
}

}  // namespace
}  // namespace telltale::model
