#include "server/rpc/channel_map.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/telltale/v1/anomaly_detection_service.pb.h"
#include "server/rpc/error_details.h"
#include "tests/support/channels.h"

namespace telltale::server {
namespace {

namespace v1 = ::telltale::v1;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

data::ChannelSet ModelChannels() {
  return data::ChannelSet::Create(
             {telltale::testing::MakeChannel("pressure", "kPa"),
              telltale::testing::MakeChannel("flow", "kg/s"),
              telltale::testing::MakeChannel("valve", "",
                                             data::ChannelKind::kCommand)})
      .value();
}

v1::OpenStream Declare(
    const std::vector<std::pair<std::string, std::string>>& channels) {
  v1::OpenStream open;
  for (const auto& [name, unit] : channels) {
    open.add_channels()->set_name(name);
    open.mutable_channels()->rbegin()->set_unit(unit);
  }
  return open;
}

absl::StatusOr<ChannelMap> Create(
    const std::vector<std::pair<std::string, std::string>>& channels) {
  return ChannelMap::Create(Declare(channels).channels(), ModelChannels());
}

ChannelMap Shuffled() {
  return Create({{"valve", ""}, {"pressure", "kPa"}, {"flow", "kg/s"}}).value();
}

v1::Window MakeWindow(std::vector<int64_t> time_ns,
                      std::vector<float> samples) {
  v1::Window window;
  window.mutable_time_ns()->Add(time_ns.begin(), time_ns.end());
  window.mutable_samples()->Add(samples.begin(), samples.end());
  return window;
}

// The one field that an error names.
std::string FieldOf(const absl::Status& status) {
  const auto fields = FieldsOf(status);
  return fields.field_violations_size() == 1
             ? fields.field_violations(0).field()
             : "";
}

TEST(ChannelMap, BringsColumnsIntoTheModelsOrder) {
  const auto sent =
      Shuffled().Map(MakeWindow({1, 2}, {7, 1, 4, 8, 2, 5}), 1024);

  ASSERT_TRUE(sent.ok()) << sent.status();
  EXPECT_THAT(sent->window->samples(), ElementsAre(1, 4, 7, 2, 5, 8));
}

TEST(ChannelMap, NamesBothUnitsWhenTheyDiffer) {
  const auto map =
      Create({{"pressure", "Pa"}, {"flow", "kg/s"}, {"valve", ""}});

  EXPECT_TRUE(absl::IsInvalidArgument(map.status()));
  EXPECT_EQ(FieldOf(map.status()), "channels[0].unit");
  EXPECT_THAT(std::string(map.status().message()),
              AllOf(HasSubstr("'Pa'"), HasSubstr("'kPa'")));
}

TEST(ChannelMap, TakesAChannelThatDeclaresNoUnit) {
  EXPECT_TRUE(Create({{"pressure", ""}, {"flow", ""}, {"valve", ""}}).ok());
}

TEST(ChannelMap, NamesAMissingUnknownOrRepeatedChannel) {
  const auto missing = Create({{"pressure", "kPa"}, {"flow", "kg/s"}}).status();
  EXPECT_EQ(FieldOf(missing), "channels");
  EXPECT_THAT(
      std::string(missing.message()),
      AllOf(HasSubstr("2 channels"), HasSubstr("has 3"), HasSubstr("'valve'")));

  const auto unknown = Create({{"presure", "kPa"}}).status();
  EXPECT_EQ(FieldOf(unknown), "channels[0].name");
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("'presure'"));

  const auto twice = Create({{"flow", "kg/s"}, {"flow", "kg/s"}}).status();
  EXPECT_EQ(FieldOf(twice), "channels[1].name");

  EXPECT_EQ(FieldOf(Create({}).status()), "channels");
}

TEST(ChannelMap, RefusesAnotherKindAndAcceptsNone) {
  v1::OpenStream open =
      Declare({{"pressure", "kPa"}, {"flow", "kg/s"}, {"valve", ""}});
  open.mutable_channels(2)->set_kind(v1::CHANNEL_KIND_COMMAND);
  EXPECT_TRUE(ChannelMap::Create(open.channels(), ModelChannels()).ok());

  open.mutable_channels(2)->set_kind(v1::CHANNEL_KIND_CONTINUOUS);
  EXPECT_EQ(
      FieldOf(ChannelMap::Create(open.channels(), ModelChannels()).status()),
      "channels[2].kind");
}

TEST(ChannelMap, RefusesShapesThatDoNotMultiplyOut) {
  const ChannelMap map = Shuffled();

  EXPECT_EQ(FieldOf(map.Map(MakeWindow({}, {}), 9).status()), "window.time_ns");
  EXPECT_EQ(
      FieldOf(
          map.Map(MakeWindow({1, 2, 3}, std::vector<float>(9)), 2).status()),
      "window.time_ns");
  const auto samples = map.Map(MakeWindow({1, 2}, {1, 2, 3, 4, 5}), 9).status();
  EXPECT_EQ(FieldOf(samples), "window.samples");
  EXPECT_THAT(std::string(samples.message()),
              AllOf(HasSubstr("5 samples"), HasSubstr("make 6")));

  v1::Window reception = MakeWindow({1}, {1, 2, 3});
  reception.add_reception_time_ns(1);
  reception.add_reception_time_ns(2);
  EXPECT_EQ(FieldOf(map.Map(reception, 9).status()),
            "window.reception_time_ns");

  v1::Window validity = MakeWindow({1}, {1, 2, 3});
  validity.add_validity(v1::VALIDITY_VALID);
  EXPECT_EQ(FieldOf(map.Map(validity, 9).status()), "window.validity");
}

TEST(ChannelMap, RefusesTimeThatDoesNotRise) {
  const std::vector<float> samples(9);

  for (const int64_t third : {3, 2}) {
    const auto status =
        Shuffled().Map(MakeWindow({2, 3, third}, samples), 9).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_EQ(FieldOf(status), "window.time_ns[2]");
  }
}

TEST(ChannelMap, RefusesInfinitiesAndHugeSamplesByPlace) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity(), 1.1e30F, -3e38F}) {
    const auto status =
        Shuffled().Map(MakeWindow({1, 2}, {0, 0, 0, 0, bad, 0}), 9).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_EQ(FieldOf(status), "window.samples[4]");
  }
  EXPECT_TRUE(Shuffled().Map(MakeWindow({1}, {1e30F, -1e30F, 0}), 9).ok());
}

TEST(ChannelMap, MakesInvalidSamplesAndEveryNaNTheSameMissingSample) {
  v1::Window window = MakeWindow({1}, {-std::nanf("5"), 2, 3});
  for (const auto validity :
       {v1::VALIDITY_VALID, v1::VALIDITY_EXPIRED, v1::VALIDITY_INVALID}) {
    window.add_validity(validity);
  }

  const auto sent = Shuffled().Map(window, 9);

  ASSERT_TRUE(sent.ok());
  for (const float sample : sent->window->samples()) {
    EXPECT_EQ(std::bit_cast<uint32_t>(sample), std::bit_cast<uint32_t>(kNaN));
  }
}

TEST(ChannelMap, RefusesAValidityThatIsUnknown) {
  v1::Window window = MakeWindow({1}, {1, 2, 3});
  for (const int validity : {1, 4, 2}) {
    window.add_validity(static_cast<v1::Validity>(validity));
  }

  const auto status = Shuffled().Map(window, 9).status();

  EXPECT_EQ(FieldOf(status), "window.validity[1]");
  EXPECT_THAT(std::string(status.message()), HasSubstr("validity 4"));
}

TEST(ChannelMap, RefusesNamesThatAreTooLong) {
  const std::string longest(256, 'n');
  EXPECT_THAT(std::string(Create({{longest, ""}}).status().message()),
              HasSubstr("no channel"));
  const auto name = Create({{longest + "n", ""}}).status();
  EXPECT_EQ(FieldOf(name), "channels[0].name");
  EXPECT_THAT(std::string(name.message()), HasSubstr("257 bytes"));
  EXPECT_EQ(FieldOf(Create({{"", ""}}).status()), "channels[0].name");
  EXPECT_EQ(FieldOf(Create({{"flow", std::string(65, 'u')}}).status()),
            "channels[0].unit");
}

TEST(ChannelMap, RepeatsNamesFromOutsideOnOneShortLine) {
  const auto name = Create({{"a\n" + std::string(200, 'b'), ""}}).status();
  EXPECT_THAT(
      std::string(name.message()),
      AllOf(HasSubstr("'a\\nbbb"), HasSubstr("bbb...'"), Not(HasSubstr("\n"))));
  EXPECT_LT(name.message().size(), 160U);
  const auto unit = Create({{"flow", "\x1B[31m"}}).status();
  EXPECT_THAT(std::string(unit.message()), HasSubstr("'\\x1b[31m'"));
}

}  // namespace
}  // namespace telltale::server
