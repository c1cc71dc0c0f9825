#include "data/csv_writer.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/csv_reader.h"
#include "tests/data/temporary_file.h"

namespace telltale::data {
namespace {

using testing::HasSubstr;

Series TwoChannels() {
  Series series;
  Channel a;
  a.name = "a, \"quoted\"";
  a.unit = "m/s";
  Channel b;
  b.name = "b[1]";
  series.channels = *ChannelSet::Create({a, b});
  return series;
}

TEST(CsvWriter, WritesHeaderTimesAndSamples) {
  Series series = TwoChannels();
  series.time_ns = {0, 1'500'000'000};
  series.samples = {1.5F, std::nanf(""), -0.1F, 16777216};
  const TemporaryFile file("out.csv");

  ASSERT_TRUE(WriteCsv(series, file.path()).ok());

  EXPECT_EQ(file.Content(),
            "time,\"a, \"\"quoted\"\"[m/s]\",b[1][]\n"
            "0,1.5,\n"
            "1.5,-0.1,16777216\n");
}

TEST(CsvWriter, EveryFloatReadsBackToTheSameBits) {
  Series series = TwoChannels();
  series.time_form = TimeForm::kRfc3339;
  std::mt19937 random(3);
  while (series.samples.size() < 20'000) {
    const float sample = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!(std::fabs(sample) <= 1e30F)) continue;
    series.samples.push_back(sample);
  }
  for (int64_t t = 0; t < 10'000; ++t) {
    series.time_ns.push_back(t * 123'456'789'012 - 77);
  }
  const TemporaryFile file("out.csv");

  ASSERT_TRUE(WriteCsv(series, file.path()).ok());
  const auto reread = ReadCsv(file.path());

  ASSERT_TRUE(reread.ok()) << reread.status();
  EXPECT_EQ(reread->channels, series.channels);
  EXPECT_EQ(reread->time_form, series.time_form);
  EXPECT_EQ(reread->time_ns, series.time_ns);
  for (size_t i = 0; i < series.samples.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(reread->samples[i]),
              std::bit_cast<uint32_t>(series.samples[i]))
        << series.samples[i];
  }
}

TEST(CsvWriter, RefusesNamesThatWouldBeMisread) {
  Series series;
  Channel channel;
  channel.name = "a\nb";
  series.channels = *ChannelSet::Create({channel});
  const TemporaryFile file("out.csv");

  const absl::Status status = WriteCsv(series, file.path());

  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"a\\nb\""));
}

TEST(CsvWriter, SaysWhenItCannotWrite) {
  Series series = TwoChannels();
  series.time_ns = {0};
  series.samples = {1, 2};
  EXPECT_EQ(WriteCsv(series, "/no/such/out.csv").code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(WriteCsv(series, "/dev/full").code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace telltale::data
