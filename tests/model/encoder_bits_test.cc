#include <cstdint>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

#include "model/stream_encoder.h"
#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"
#include "tests/support/stream.h"

namespace telltale::model {
namespace {

// A forecast's bits depend on its stream alone. These tests run once more with
// oneDNN held to AVX2, whose products depend on their shapes.

struct BitsCase {
  std::string name;
  EncoderConfig config;
  int64_t count = 0;
  bool irregular = false;
  Precision precision = Precision::kFloat32;
};

void PrintTo(const BitsCase& c, std::ostream* out) { *out << c.name; }

class EncoderBitsTest : public ::testing::TestWithParam<BitsCase> {
 protected:
  EncoderBitsTest()
      : config_(GetParam().config),
        count_(GetParam().count),
        parameters_(RandomParameters(config_, 1)),
        encoder_(context_, config_, parameters_, precision()),
        x_(RandomMatrix(count_, config_.input_width, 2)),
        positions_(Positions(count_, GetParam().irregular)),
        undisturbed_(config_, x_, positions_) {
    AdvanceTo(encoder_, undisturbed_, {1});
  }

  void SetUp() override {
    if (precision() != GetParam().precision) {
      GTEST_SKIP() << "this processor has no "
                   << PrecisionName(GetParam().precision);
    }
  }

  static Precision precision() {
    const Precision wanted = GetParam().precision;
    return IsSupported(wanted) ? wanted : Precision::kFloat32;
  }
  const Matrix& expected() const { return undisturbed_.forecast(); }

  Context context_;
  const EncoderConfig config_;
  const int64_t count_;
  const Parameters parameters_;
  StreamEncoder encoder_;
  const Matrix x_;
  const std::vector<double> positions_;
  Stream undisturbed_;  // instant by instant, alone
};

TEST_P(EncoderBitsTest, DoNotDependOnTheSplitIntoPasses) {
  for (const std::vector<int>& passes :
       {std::vector<int>{7}, std::vector<int>{16}, std::vector<int>{15, 2},
        std::vector<int>{1, 16, 3, 7, 11, 16, 5}}) {
    Stream stream(config_, x_, positions_);
    AdvanceTo(encoder_, stream, passes);
    EXPECT_TRUE(HasBits(stream.forecast(), expected()))
        << "passes of " << testing::PrintToString(passes);
  }
}

TEST_P(EncoderBitsTest, DoNotDependOnTheNeighboursNorTheirOrder) {
  const Matrix other_x = RandomMatrix(count_, config_.input_width, 8);
  Matrix wild_x = other_x;
  for (float& value : wild_x.floats()) value *= 1e6F;
  const std::vector<double> other_positions = Positions(count_, true, 1e6);
  for (const auto& order :
       {std::vector<size_t>{0, 1, 2}, std::vector<size_t>{2, 1, 0},
        std::vector<size_t>{1, 0, 2}}) {
    Stream mine(config_, x_, positions_);
    Stream other(config_, other_x, other_positions);
    Stream wild(config_, wild_x, other_positions);
    Stream* streams[] = {&mine, &other, &wild};
    int64_t pass = 0;
    while (!mine.done()) {
      const int64_t sizes[] = {1 + pass % 9, 1 + pass % 16, 16 - pass % 13};
      std::vector<StreamRows> rows;
      rows.reserve(order.size());
      for (size_t i : order) rows.push_back(streams[i]->Take(sizes[i]));
      encoder_.Advance(rows);
      ++pass;
    }
    EXPECT_TRUE(HasBits(mine.forecast(), expected()))
        << "order " << testing::PrintToString(order);
  }
}

TEST_P(EncoderBitsTest, DoNotDependOnTheRowWithinTheTile) {
  constexpr int64_t kInstants = 40;
  const Matrix other_x =
      RandomMatrix(int64_t{kInstants} * kTileRows, config_.input_width, 8);
  const std::vector<double> other_positions = Positions(other_x.rows(), false);
  for (int64_t row = 0; row < int64_t{2} * kTileRows; ++row) {
    Stream mine(config_, x_, positions_);
    Stream before(config_, other_x, other_positions);
    Stream more(config_, other_x, other_positions);
    while (mine.next() < kInstants) {
      StreamRows rows[] = {before.Take(row % kTileRows),
                           more.Take(row / kTileRows * kTileRows),
                           mine.Take(1)};
      encoder_.Advance(rows);
    }
    EXPECT_TRUE(HasBits(mine.forecast().view().Rows(0, kInstants),
                        expected().view().Rows(0, kInstants)))
        << "row " << row;
  }
}

TEST_P(EncoderBitsTest, DoNotDependOnTheThread) {
  Matrix found;
  std::thread([&] {
    Context context;
    StreamEncoder encoder(context, config_, parameters_, precision());
    Stream stream(config_, x_, positions_);
    AdvanceTo(encoder, stream, {16, 5});
    found = stream.forecast();
  }).join();
  EXPECT_TRUE(HasBits(found, expected()));
}

TEST_P(EncoderBitsTest, DoNotDependOnWhetherAttentionIsAskedFor) {
  Stream stream(config_, x_, positions_);
  int64_t pass = 0;
  while (!stream.done()) {
    StreamRows rows = stream.Take(11, /*with_attention=*/pass++ % 3 != 0);
    encoder_.Advance({&rows, 1});
    std::vector<float> readout;
    encoder_.Explain(stream.cache(), stream.next() - 1, 0, readout);
  }
  EXPECT_TRUE(HasBits(stream.forecast(), expected()));
}

TEST_P(EncoderBitsTest, OfAnExplanationDoNotDependOnThePasses) {
  Stream other(config_, x_, positions_);
  AdvanceTo(encoder_, other, {16, 3});
  const int64_t query = count_ - 1 - config_.horizons.back();
  std::vector<float> a;
  std::vector<float> b;
  encoder_.Explain(undisturbed_.cache(), query, 1, a);
  encoder_.Explain(other.cache(), query, 1, b);
  const auto size = static_cast<int64_t>(a.size());
  EXPECT_TRUE(HasBits(View(a.data(), 1, size),
                      View(b.data(), 1, static_cast<int64_t>(b.size()))));
}

TEST_P(EncoderBitsTest, OfAnEarlierForecastDoNotDependOnALaterInstant) {
  for (int64_t changed : {int64_t{20}, count_ - 3}) {
    Matrix other_x = x_;
    for (int i = 0; i < config_.input_width; ++i) {
      other_x.Row(changed)[i] += 100;
    }
    Stream stream(config_, other_x, positions_);
    AdvanceTo(encoder_, stream, {16});
    EXPECT_TRUE(HasBits(stream.forecast().view().Rows(0, changed),
                        expected().view().Rows(0, changed)));
    EXPECT_FALSE(HasBits(stream.forecast().view().Rows(changed, 1),
                         expected().view().Rows(changed, 1)));
  }
}

// A forecast counts its own instant into the receptive field; so many less one
// before it rebuild what it needs, and not one fewer.
TEST_P(EncoderBitsTest, AReplayOfTheReceptiveFieldRebuildsAStream) {
  const int64_t field = config_.receptive_field();
  const int64_t first = count_ - 50;  // to be forecast as if nothing happened
  ASSERT_GE(first, field);
  const auto continued = [&](int64_t replayed) {
    Stream stream(config_, x_, positions_, first - replayed);
    AdvanceTo(encoder_, stream, {16, 9});
    return stream.forecast();
  };
  const ConstMatrixView expected_rest = expected().view().Rows(first, 50);
  for (int64_t replayed : {field - 1, field, first}) {
    EXPECT_TRUE(
        HasBits(continued(replayed).view().Rows(first, 50), expected_rest))
        << replayed << " instants replayed";
  }
  const Matrix too_few = continued(field - 2);
  EXPECT_FALSE(
      HasBits(too_few.view().Rows(first, 1), expected_rest.Rows(0, 1)));
  // It was the one forecast that rests on the missing instant.
  EXPECT_TRUE(
      HasBits(too_few.view().Rows(first + 1, 49), expected_rest.Rows(1, 49)));
}

TEST_P(EncoderBitsTest, SurviveSavingAndRestoring) {
  for (int64_t cut : {int64_t{0}, int64_t{5}, count_ / 2 + 3}) {
    Stream before(config_, x_, positions_);
    AdvanceTo(encoder_, before, {16, 7}, cut);
    std::string bytes;
    before.cache().Save(bytes);

    // Into a stream that has seen something else.
    const Matrix other_x = RandomMatrix(count_, config_.input_width, 8);
    Stream after(config_, other_x, positions_);
    AdvanceTo(encoder_, after, {16}, 30);
    std::string_view rest = bytes;
    ASSERT_TRUE(after.cache().Restore(rest));
    EXPECT_TRUE(rest.empty());
    EXPECT_EQ(after.cache().end_index(), cut);

    Matrix found(count_, config_.output_width());
    for (int64_t i = cut; i < count_; ++i) {
      StreamRows rows = {
          .cache = &after.cache(),
          .x = x_.view().Rows(i, 1),
          .positions = std::span(positions_).subspan(static_cast<size_t>(i), 1),
          .forecast = found.view().Rows(i, 1)};
      encoder_.Advance({&rows, 1});
    }
    EXPECT_TRUE(HasBits(found.view().Rows(cut, count_ - cut),
                        expected().view().Rows(cut, count_ - cut)))
        << "saved after " << cut;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Streams, EncoderBitsTest,
    ::testing::Values(BitsCase{"Shipped", ShippedConfig(), 700, false},
                      BitsCase{"ShippedIrregular", ShippedConfig(), 700, true},
                      BitsCase{"Small", SmallConfig(), 300, true},
                      BitsCase{"Textbook", TextbookConfig(), 500, false},
                      BitsCase{"ShippedInBfloat16", ShippedConfig(), 700, true,
                               Precision::kBfloat16},
                      BitsCase{"SmallInBfloat16", SmallConfig(), 300, true,
                               Precision::kBfloat16}),
    [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace telltale::model
