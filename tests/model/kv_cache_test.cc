#include "model/kv_cache.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"

namespace telltale::model {
namespace {

TEST(KvLayerTest, HoldsTheReachAndTheLookbackInWholeTiles) {
  const EncoderConfig config = SmallConfig();
  for (const LayerConfig& layer : config.layers) {
    const KvLayer cache(config, layer);
    EXPECT_GE(cache.slot_count(),
              layer.reach + kTileRows - 1 + config.horizons.back());
    EXPECT_EQ(cache.slot_count() % kTileRows, 0);
  }
}

TEST(KvLayerTest, KeepsInstantsInSlotsThatTheirIndexGives) {
  const EncoderConfig config = SmallConfig();
  KvLayer cache(config, config.layers[0]);
  const int64_t slots = cache.slot_count();
  const int64_t last = 3 * slots + 5;
  for (int64_t i = 0; i <= last; ++i) {
    const std::vector<float> key(static_cast<size_t>(config.query_columns()),
                                 static_cast<float>(i));
    const std::vector<float> value(static_cast<size_t>(config.value_columns()),
                                   static_cast<float>(-i));
    cache.Append(i, 0.5 * static_cast<double>(i), key.data(), value.data());
  }
  for (int64_t i = last - slots + 1; i <= last; ++i) {
    const int64_t slot = cache.Slot(i);
    EXPECT_EQ(cache.keys.Row(config.query_columns() - 1)[slot],
              static_cast<float>(i));
    EXPECT_EQ(cache.values.Row(0)[slot], static_cast<float>(-i));
    EXPECT_EQ(cache.positions[static_cast<size_t>(slot)],
              0.5 * static_cast<double>(i));
  }
}

TEST(KvLayerTest, RunsCoverARangeOnceInOrder) {
  const EncoderConfig config = SmallConfig();
  KvLayer cache(config, config.layers[0]);
  const int64_t slots = cache.slot_count();
  for (int64_t begin : {int64_t{0}, slots - 3, slots, 5 * slots + 7}) {
    for (int64_t count : {int64_t{1}, int64_t{3}, int64_t{4}, slots}) {
      int64_t next = begin;
      for (const KeyRun& run : cache.Runs(begin, begin + count)) {
        EXPECT_EQ(run.first_index, next);
        EXPECT_GT(run.count, 0);
        EXPECT_EQ(run.column, cache.Slot(next));
        EXPECT_LE(run.column + run.count, slots);
        EXPECT_EQ(run.positions, cache.positions.data() + run.column);
        next += run.count;
      }
      EXPECT_EQ(next, begin + count);
    }
  }
}

TEST(KvCacheTest, BeginsWhereTheStreamBeginsAndMovesOnWithTheRing) {
  const EncoderConfig config = SmallConfig();
  KvCache cache(config, 1000);
  EXPECT_EQ(cache.first_index(), 1000);
  EXPECT_EQ(cache.end_index(), 1000);
  KvLayer& layer = cache.layers()[1];
  EXPECT_EQ(cache.Begin(layer), 1000);
  cache.set_end_index(1000 + layer.slot_count());
  EXPECT_EQ(cache.Begin(layer), 1000);
  cache.set_end_index(1000 + layer.slot_count() + 7);
  EXPECT_EQ(cache.Begin(layer), 1007);
}

TEST(KvCacheTest, RemembersTheLastInputsAndQueries) {
  const EncoderConfig config = SmallConfig();
  KvCache cache(config, 0);
  EXPECT_GE(cache.lookback(), kTileRows + config.horizons.back());
  for (int64_t i = 0; i < 100; ++i) {
    const std::vector<float> input(static_cast<size_t>(config.width),
                                   static_cast<float>(i));
    const std::vector<float> query(static_cast<size_t>(config.query_columns()),
                                   static_cast<float>(-i));
    cache.Remember(i, input.data(), query.data());
  }
  for (int64_t i = 100 - cache.lookback(); i < 100; ++i) {
    EXPECT_EQ(cache.LastInput(i)[config.width - 1], static_cast<float>(i));
    EXPECT_EQ(cache.LastQuery(i)[0], static_cast<float>(-i));
  }
}

class SavedCacheTest : public ::testing::Test {
 protected:
  SavedCacheTest() : cache_(config_, 3) {
    cache_.set_end_index(90);
    uint64_t seed = 1;
    const auto fill = [&](Matrix& matrix) {
      matrix = RandomMatrix(matrix.rows(), matrix.columns(), seed++);
    };
    for (KvLayer& layer : cache_.layers()) {
      fill(layer.keys);
      fill(layer.values);
      layer.positions = Positions(layer.slot_count(), true);
    }
    fill(cache_.recent_inputs());
    const Matrix rows = RandomMatrix(2, 64, seed);
    cache_.Remember(89, rows.Row(0), rows.Row(1));
    cache_.Save(bytes_);
  }

  const EncoderConfig config_ = SmallConfig();
  KvCache cache_;
  std::string bytes_;
};

TEST_F(SavedCacheTest, ComesBackWithTheSameBits) {
  KvCache other(config_, 0);
  std::string_view rest = bytes_;
  ASSERT_TRUE(other.Restore(rest));
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(other.first_index(), 3);
  EXPECT_EQ(other.end_index(), 90);
  for (size_t n = 0; n < config_.layers.size(); ++n) {
    KvLayer& a = cache_.layers()[n];
    KvLayer& b = other.layers()[n];
    EXPECT_TRUE(HasBits(b.keys, a.keys));
    EXPECT_TRUE(HasBits(b.values, a.values));
    EXPECT_EQ(b.positions, a.positions);
  }
  EXPECT_TRUE(HasBits(other.recent_inputs(), cache_.recent_inputs()));
  std::string again;
  other.Save(again);
  EXPECT_EQ(again, bytes_);
}

TEST_F(SavedCacheTest, LeavesWhatFollowsItToTheCaller) {
  const std::string followed = bytes_ + "more";
  KvCache other(config_, 0);
  std::string_view rest = followed;
  ASSERT_TRUE(other.Restore(rest));
  EXPECT_EQ(rest, "more");
}

TEST_F(SavedCacheTest, IsRefusedWhenTruncated) {
  for (size_t size : {size_t{0}, size_t{7}, size_t{16}, bytes_.size() / 2,
                      bytes_.size() - 4, bytes_.size() - 1}) {
    KvCache other(config_, 0);
    std::string_view rest = std::string_view(bytes_).substr(0, size);
    EXPECT_FALSE(other.Restore(rest)) << size << " bytes";
  }
}

TEST_F(SavedCacheTest, IsRefusedWhenItsIndicesMakeNoSense) {
  for (const auto& [first, end] :
       {std::pair<int64_t, int64_t>{-1, 5}, {10, 5}}) {
    KvCache odd(config_, first);
    odd.set_end_index(end);
    std::string bytes;
    odd.Save(bytes);
    KvCache other(config_, 0);
    std::string_view rest = bytes;
    EXPECT_FALSE(other.Restore(rest)) << first << " to " << end;
  }
}

}  // namespace
}  // namespace telltale::model
