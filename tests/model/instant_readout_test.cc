// What an output owes to earlier instants, by inputs or by keys.

#include "model/scoring/instant_readout.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "model/stream_encoder.h"
#include "tests/support/encoder_cases.h"
#include "tests/support/stream.h"

namespace telltale::model {
namespace {

constexpr int64_t kCount = 60;
constexpr int64_t kQuery = kCount - 1;
constexpr int kColumn = 1;

// A read-out of the last instant's forecast over random telemetry.
struct Reader {
  explicit Reader(EncoderConfig chosen)
      : config(std::move(chosen)),
        parameters(RandomParameters(config, 1)),
        encoder(context, config, parameters),
        x(RandomMatrix(kCount, config.input_width, 2)),
        stream(config, x, positions),
        readout(config) {
    AdvanceTo(encoder, stream, {16}, kCount);
  }

  Readout Read(int64_t query) {
    return readout.Read(encoder, stream.cache(), query, kColumn);
  }

  Context context;
  const EncoderConfig config;
  const Parameters parameters;
  StreamEncoder encoder;
  Matrix x;
  const std::vector<double> positions = Positions(kCount, false);
  Stream stream;
  InstantReadout readout;
};

EncoderConfig KeyedByTheLayerBelow() {
  EncoderConfig config = SmallConfig();
  config.layers.back().key_source = KeySource::kLayer;
  return config;
}

TEST(InstantReadout, SumsTheColumnsOfEachInstantWhereKeysAreStems) {
  Reader reader(SmallConfig());
  const Readout readout = reader.Read(kQuery);

  EXPECT_EQ(reader.readout.taps(), 1);
  ASSERT_EQ(readout.first + std::ssize(readout.values), kCount);
  float total = 0;
  for (int64_t i = readout.first; i < kCount; ++i) {
    const float* columns = reader.readout.Columns(i);
    const float sum =
        std::accumulate(columns, columns + reader.config.input_width, 0.0F);
    EXPECT_EQ(readout.values[static_cast<size_t>(i - readout.first)], sum);
    total += sum;
  }
  EXPECT_GT(total, 0);
}

TEST(InstantReadout, LeavesEachPartWithItsKeyWhereKeysHaveMixed) {
  Reader reader(KeyedByTheLayerBelow());
  const Readout readout = reader.Read(kQuery);

  EXPECT_EQ(reader.readout.taps(), reader.config.stem_taps);
  std::vector<float> keys;
  const int64_t first =
      reader.encoder.Explain(reader.stream.cache(), kQuery, kColumn, keys);
  EXPECT_EQ(readout.first, first);
  EXPECT_EQ(readout.values, keys);
}

TEST(InstantReadout, IsNeverLongerThanItSays) {
  for (const EncoderConfig& config : {SmallConfig(), KeyedByTheLayerBelow()}) {
    Reader reader(config);
    int64_t longest = 0;
    for (int64_t query = kCount - 8; query < kCount; ++query) {
      longest =
          std::max<int64_t>(longest, std::ssize(reader.Read(query).values));
    }
    EXPECT_EQ(longest, InstantReadout::Length(config));
  }
}

}  // namespace
}  // namespace telltale::model
