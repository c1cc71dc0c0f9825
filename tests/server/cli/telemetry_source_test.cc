#include "server/cli/telemetry_source.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/cli/segments.h"
#include "tests/data/temporary_file.h"
#include "tests/support/channels.h"

namespace telltale::server {
namespace {

using data::TemporaryFile;
using ::telltale::testing::MakeChannel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

data::ChannelSet Model() {
  return data::ChannelSet::Create(
             {MakeChannel("pressure", "kPa"), MakeChannel("flow", "")})
      .value();
}

std::string OpenError(const std::string& path) {
  const auto source = TelemetrySource::Open(path, Model());
  return std::string(source.status().message());
}

TEST(TelemetrySource, PutsChannelsIntoTheModelsOrder) {
  const TemporaryFile file("run.csv",
                           "time,flow,pressure[kPa]\n0,1,10\n1,2,20\n2,3,30\n");
  auto source = TelemetrySource::Open(file.path(), Model());
  ASSERT_TRUE(source.ok()) << source.status();

  Instants instants;
  EXPECT_EQ(source->Read(2, instants).value(), 2);
  EXPECT_EQ(source->Read(2, instants).value(), 1);
  EXPECT_EQ(source->Read(2, instants).value(), 0);

  EXPECT_THAT(instants.samples, ElementsAre(10, 1, 20, 2, 30, 3));
  EXPECT_THAT(instants.time_ns, ElementsAre(0, 1'000'000'000, 2'000'000'000));
}

TEST(TelemetrySource, KnowsHowTimeIsWritten) {
  const TemporaryFile file("run.csv",
                           "time,flow,pressure\n2026-01-31T12:00:00Z,1,10\n");
  auto source = TelemetrySource::Open(file.path(), Model());
  ASSERT_TRUE(source.ok()) << source.status();

  Instants instants;
  ASSERT_TRUE(source->Read(1, instants).ok());

  EXPECT_EQ(source->time_form(), data::TimeForm::kRfc3339);
}

TEST(TelemetrySource, TakesAnUndeclaredUnitToBeTheModels) {
  const TemporaryFile file("run.csv", "time,flow,pressure\n0,1,10\n");

  EXPECT_EQ(OpenError(file.path()), "");
}

TEST(TelemetrySource, RefusesAnotherUnitNamingBoth) {
  const TemporaryFile bar("bar.csv", "time,flow,pressure[bar]\n0,1,10\n");
  const TemporaryFile litres("litres.csv",
                             "time,flow[l/s],pressure[kPa]\n0,1,10\n");

  EXPECT_THAT(OpenError(bar.path()),
              HasSubstr("bar.csv: channel 'pressure' is in 'bar', and in the "
                        "model it is in 'kPa'"));
  EXPECT_THAT(OpenError(litres.path()),
              HasSubstr("'l/s', and in the model it has no unit"));
}

TEST(TelemetrySource, RefusesChannelsThatTheModelHasNotOrMisses) {
  const TemporaryFile more("more.csv", "time,flow,pressure,thrust\n0,1,2,3\n");
  const TemporaryFile less("less.csv", "time,flow\n0,1\n");

  EXPECT_THAT(OpenError(more.path()),
              HasSubstr("more.csv: the model has no channel 'thrust'"));
  EXPECT_THAT(OpenError(less.path()),
              HasSubstr("less.csv: channel 'pressure' of the model is "
                        "missing"));
}

TEST(TelemetrySource, NamesTheLineThatCannotBeRead) {
  const TemporaryFile file("run.csv", "time,flow,pressure\n0,1,10\n1,wet,20\n");
  auto source = TelemetrySource::Open(file.path(), Model());
  ASSERT_TRUE(source.ok()) << source.status();

  Instants instants;
  const auto read = source->Read(10, instants);

  EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(read.status().message()),
              HasSubstr("run.csv, line 3: column 2"));
}

// A .npy file of shape [2, 2, 2], float32.
std::string TwoSegments() {
  std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2, 2), }";
  header.resize(117, ' ');
  std::string bytes =
      std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + '\n';
  for (int i = 0; i < 8; ++i) {
    const auto x = static_cast<float>(10 + i);
    bytes.append(reinterpret_cast<const char*>(&x), sizeof(x));
  }
  return bytes;
}

TEST(TelemetrySource, OpensEachSegmentOfAnArray) {
  const TemporaryFile file("runs.npy", TwoSegments());

  auto sources = TelemetrySource::OpenSegments(file.path(), Model());

  ASSERT_TRUE(sources.ok()) << sources.status();
  ASSERT_EQ(sources->size(), 2U);
  EXPECT_EQ((*sources)[1].length(), 2);
  Instants instants;
  ASSERT_EQ((*sources)[1].Read(10, instants).value(), 2);
  // Channels that are called after their file are taken in their order.
  EXPECT_THAT(instants.samples, ElementsAre(14, 15, 16, 17));
  EXPECT_THAT(instants.time_ns, ElementsAre(0, 1'000'000'000));
}

TEST(TelemetrySource, OpensAnythingElseAsOneSegment) {
  const TemporaryFile file("run.csv", "time,flow,pressure\n0,2,1\n");

  const auto sources = TelemetrySource::OpenSegments(file.path(), Model());

  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_EQ(sources->size(), 1U);
}

TEST(Segments, OfOneArrayAreSeveral) {
  const TemporaryFile first("first.npy", TwoSegments());
  const TemporaryFile second("second.npy", TwoSegments());

  const auto segments = ReadSegments({first.path(), second.path()});

  ASSERT_TRUE(segments.ok()) << segments.status();
  ASSERT_EQ(segments->size(), 4U);
  EXPECT_EQ((*segments)[3].channels, (*segments)[0].channels);
  EXPECT_THAT((*segments)[3].samples, ElementsAre(14, 15, 16, 17));
}

TEST(Faults, AreReadForTheirSegments) {
  const TemporaryFile data("runs.npy", TwoSegments());
  const auto segments = ReadSegments({data.path()}).value();
  const TemporaryFile labels("labels.csv", "segment,start,end\n1,1,1\n");

  const auto faults = ReadFaults(labels.path(), segments);

  ASSERT_TRUE(faults.ok()) << faults.status();
  EXPECT_TRUE(faults->Holds(1, 1));
  EXPECT_EQ(faults->CountInstants({0, 0, 2}) + faults->CountInstants({1, 0, 2}),
            1);
}

TEST(Faults, NeedNoSegmentWhereThereIsOnlyOne) {
  const TemporaryFile data("run.csv", "time,a\n0,1\n1,2\n");
  const auto segments = ReadSegments({data.path()}).value();
  const TemporaryFile labels("labels.csv", "start,end\n1,1\n");

  const auto faults = ReadFaults(labels.path(), segments);

  ASSERT_TRUE(faults.ok()) << faults.status();
  EXPECT_TRUE(faults->Holds(0, 1));
}

TEST(Segments, TakeTheOrderOfTheFirst) {
  const TemporaryFile first("first.csv", "time,a[V],b\n0,1,2\n1,3,4\n");
  const TemporaryFile second("second.csv", "time,b,a[V]\n0,20,10\n1,40,30\n");

  const auto segments = ReadSegments({first.path(), second.path()});

  ASSERT_TRUE(segments.ok()) << segments.status();
  EXPECT_EQ((*segments)[0].channels, (*segments)[1].channels);
  EXPECT_THAT((*segments)[1].samples, ElementsAre(10, 20, 30, 40));
}

// A .npy file of one axis, int8.
std::string NpyBytes(const std::string& values) {
  std::string header = "{'descr': '|i1', 'fortran_order': False, 'shape': (" +
                       std::to_string(values.size()) + ",), }";
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + values;
}

TEST(Segments, HoldAChannelForACommandOnlyWhereAllDo) {
  const TemporaryFile bits("x.npy", NpyBytes(std::string("\0\1\1", 3)));
  const std::string folder = ::testing::TempDir() + "/telltale-segments";
  std::filesystem::create_directories(folder);
  const std::string other = folder + "/x.npy";
  std::ofstream(other, std::ios::binary) << NpyBytes(std::string("\0\5\1", 3));

  const auto same = ReadSegments({bits.path(), bits.path()});
  const auto mixed = ReadSegments({bits.path(), other});
  std::filesystem::remove_all(folder);

  ASSERT_TRUE(same.ok()) << same.status();
  ASSERT_TRUE(mixed.ok()) << mixed.status();
  EXPECT_EQ((*same)[0].channels[0].kind, data::ChannelKind::kCommand);
  EXPECT_EQ((*mixed)[0].channels[0].kind, data::ChannelKind::kContinuous);
  EXPECT_EQ((*mixed)[1].channels[0].kind, data::ChannelKind::kContinuous);
}

TEST(Segments, RefuseOtherChannelsNamingBothFiles) {
  const TemporaryFile first("first.csv", "time,a\n0,1\n");
  const TemporaryFile second("second.csv", "time,b\n0,1\n");

  const auto segments = ReadSegments({first.path(), second.path()});

  const std::string message(segments.status().message());
  EXPECT_THAT(message, HasSubstr("second.csv: "));
  EXPECT_THAT(message, HasSubstr("first.csv has no channel 'b'"));
}

}  // namespace
}  // namespace telltale::server
