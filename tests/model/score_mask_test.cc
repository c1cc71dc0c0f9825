#include "model/layers/score_mask.h"

#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tests/support/encoder_cases.h"
#include "tests/support/matrix_matchers.h"
#include "tests/support/plain_encoder.h"

namespace telltale::model {
namespace {

constexpr int64_t kKeys = 40;
constexpr int64_t kFirstIndex = 100;
constexpr size_t kLayer = 1;  // the one with blind heads
constexpr char kBias[] = "encoder.layer.1.attention.distance_bias";
constexpr char kNull[] = "encoder.layer.1.attention.null_logit";

struct MaskCase {
  std::string name;
  bool causal = true;
  bool biased = true;
  bool irregular = false;
  int64_t wrap = 0;  // keys in a second run, which stands in the first columns
};

void PrintTo(const MaskCase& c, std::ostream* out) { *out << c.name; }

class ScoreMaskTest : public ::testing::TestWithParam<MaskCase> {
 protected:
  ScoreMaskTest()
      : config_(MakeConfig(GetParam())),
        parameters_(RandomParameters(config_, 1)),
        positions_(Positions(kKeys, GetParam().irregular, 5000)) {
    // Key k stands in column (k + wrap) modulo the key count, as in a ring.
    const int64_t wrap = GetParam().wrap;
    const int64_t first = kKeys - wrap;
    runs_.push_back({kFirstIndex, first, positions_.data(), wrap});
    if (wrap > 0) {
      runs_.push_back(
          {kFirstIndex + first, wrap, positions_.data() + first, 0});
    }
  }

  static EncoderConfig MakeConfig(const MaskCase& mask) {
    EncoderConfig config = SmallConfig();
    config.causal = mask.causal;
    config.distance_bias = mask.biased;
    return config;
  }
  ScoreMask Mask() const {
    return {config_, config_.layers[kLayer],
            parameters_.layers()[kLayer].attention};
  }
  int64_t Column(int64_t key) const { return (key + GetParam().wrap) % kKeys; }
  QueryPlace Place(int64_t query) const {
    return {kFirstIndex + query, positions_[static_cast<size_t>(query)]};
  }
  double Expected(const PlainTensors& tensors, int head, int64_t query,
                  int64_t key) const {
    return PlainScoreBias(
        config_, config_.layers[kLayer],
        config_.distance_bias ? tensors.at(kBias) : PlainMatrix(), head,
        query - key,
        positions_[static_cast<size_t>(query)] -
            positions_[static_cast<size_t>(key)]);
  }

  void ExpectRow(const PlainTensors& tensors, int head, int64_t query,
                 const float* row) const {
    for (int64_t key = 0; key < kKeys; ++key) {
      const double expected = Expected(tensors, head, query, key);
      const float found = row[Column(key)];
      if (std::isinf(expected)) {
        EXPECT_EQ(found, kMasked) << query << " does not see " << key;
      } else {
        EXPECT_NEAR(found, expected, 1e-5) << query << " sees " << key;
      }
    }
    EXPECT_EQ(row[kKeys], static_cast<float>(tensors.at(kNull).At(0, head)));
    for (int64_t c = kKeys + 1; c < ScoreMask::Columns(kKeys); ++c) {
      EXPECT_EQ(row[c], kMasked);
    }
  }

  // The scores that are seen, weighted by `drows`: linear in the tables.
  double WeightedScores(const PlainTensors& tensors,
                        const Matrix& drows) const {
    double sum = 0;
    for (int64_t query = 0; query < kKeys; ++query) {
      for (int head = 0; head < config_.heads; ++head) {
        const float* row = drows.Row(query * config_.heads + head);
        sum += row[kKeys] * tensors.at(kNull).At(0, head);
        for (int64_t key = 0; key < kKeys; ++key) {
          const double score = Expected(tensors, head, query, key);
          if (!std::isinf(score)) sum += row[Column(key)] * score;
        }
      }
    }
    return sum;
  }

  const EncoderConfig config_;
  const Parameters parameters_;
  const std::vector<double> positions_;
  std::vector<KeyRun> runs_;
};

TEST_P(ScoreMaskTest, FillsBiasWhereSeenAndTheMaskElsewhere) {
  const ScoreMask mask = Mask();
  const PlainTensors tensors = ToPlain(parameters_);
  const int64_t columns = ScoreMask::Columns(kKeys);
  for (int64_t query : {0L, 3L, 20L, kKeys - 1}) {
    Matrix rows = RandomMatrix(config_.heads, columns, 9);
    mask.Fill(Place(query), runs_, kKeys, rows.data(), columns);
    for (int head = 0; head < config_.heads; ++head) {
      ExpectRow(tensors, head, query, rows.Row(head));
    }
  }
}

TEST_P(ScoreMaskTest, GradientsAreThoseOfPlainLoops) {
  const ScoreMask mask = Mask();
  Parameters gradients(config_, 0);
  const int64_t columns = ScoreMask::Columns(kKeys);
  const Matrix drows = RandomMatrix(kKeys * config_.heads, columns, 3);
  for (int64_t query = 0; query < kKeys; ++query) {
    mask.AddGradients(Place(query), runs_, kKeys,
                      drows.Row(query * config_.heads), columns,
                      gradients.layers()[kLayer].attention);
  }

  PlainTensors tensors = ToPlain(parameters_);
  const auto loss = [&] { return WeightedScores(tensors, drows); };
  const PlainTensors found = ToPlain(gradients);
  EXPECT_TRUE(
      IsNear(found.at(kNull), PlainDerivative(tensors.at(kNull), loss), 1e-4));
  if (!config_.distance_bias) return;
  EXPECT_TRUE(
      IsNear(found.at(kBias), PlainDerivative(tensors.at(kBias), loss), 1e-4));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ScoreMaskTest,
    ::testing::Values(MaskCase{"Regular"},
                      MaskCase{"Irregular", true, true, true},
                      MaskCase{"RegularWrapped", true, true, false, 13},
                      MaskCase{"IrregularWrapped", true, true, true, 27},
                      MaskCase{"WithoutBias", true, false},
                      MaskCase{"Unmasked", false, true, true},
                      MaskCase{"UnmaskedRegular", false, true, false, 5}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(ScoreMaskColumnsTest, LeaveRoomForNothingAndEndOnAMultipleOfSixteen) {
  EXPECT_EQ(ScoreMask::Columns(1), 16);
  EXPECT_EQ(ScoreMask::Columns(15), 16);
  EXPECT_EQ(ScoreMask::Columns(16), 32);
  EXPECT_EQ(ScoreMask::Columns(288), 304);
}

TEST(ScoreMaskColumnsTest, WithoutANullLogitItsColumnIsMasked) {
  EncoderConfig config = TextbookConfig();
  const Parameters parameters = RandomParameters(config, 1);
  const ScoreMask mask(config, config.layers[0],
                       parameters.layers()[0].attention);
  const std::vector<double> positions = Positions(4, false);
  const KeyRun run = {0, 4, positions.data(), 0};
  Matrix rows(config.heads, 16);
  mask.Fill({3, 3}, {&run, 1}, 4, rows.data(), 16);
  for (int head = 0; head < config.heads; ++head) {
    EXPECT_EQ(rows.Row(head)[3], 0);
    EXPECT_EQ(rows.Row(head)[4], kMasked);
  }
}

TEST_P(ScoreMaskTest, HiddenKeysAreMaskedAndNoOthers) {
  const ScoreMask mask = Mask();
  const std::vector<int64_t> hidden = {kFirstIndex + 3, kFirstIndex + 20,
                                       kFirstIndex + 21, kFirstIndex - 1,
                                       kFirstIndex + kKeys};
  const int64_t columns = ScoreMask::Columns(kKeys);
  Matrix open(config_.heads, columns);
  Matrix partly(config_.heads, columns);
  QueryPlace place = Place(22);
  mask.Fill(place, runs_, kKeys, open.data(), columns);
  place.hidden = hidden;
  mask.Fill(place, runs_, kKeys, partly.data(), columns);
  for (const int64_t key : {3, 20, 21}) {
    for (int head = 0; head < config_.heads; ++head) {
      open.Row(head)[Column(key)] = kMasked;
    }
  }
  EXPECT_TRUE(HasBits(partly.view(), open.view()));
}

TEST(ScoreMaskColumnsTest, AHeadWithEveryKeyHiddenAttendsToNothing) {
  const EncoderConfig config = TextbookConfig();  // without a null logit
  const Parameters parameters = RandomParameters(config, 1);
  const ScoreMask mask(config, config.layers[0],
                       parameters.layers()[0].attention);
  const std::vector<double> positions = Positions(4, false);
  const KeyRun run = {0, 4, positions.data(), 0};
  const std::vector<int64_t> hidden = {0, 1, 2, 3};
  Matrix rows(config.heads, 16);
  mask.Fill({3, 3, hidden}, {&run, 1}, 4, rows.data(), 16);
  for (int head = 0; head < config.heads; ++head) {
    for (int column = 0; column < 16; ++column) {
      EXPECT_EQ(rows.Row(head)[column], column == 4 ? 0 : kMasked);
    }
  }
}

// A distance is all that counts, to the bit: regular sampling takes a short
// cut, which must not show.
TEST(ScoreMaskColumnsTest, RegularPositionsGiveTheSameBitsAnywhere) {
  const EncoderConfig config = SmallConfig();
  const Parameters parameters = RandomParameters(config, 1);
  const ScoreMask mask(config, config.layers[1],
                       parameters.layers()[1].attention);
  Matrix near(config.heads, 48);
  Matrix far(config.heads, 48);
  for (auto [rows, offset] : {std::pair{&near, 0.0}, std::pair{&far, 1e9}}) {
    const std::vector<double> positions = Positions(40, false, offset);
    const KeyRun run = {0, 40, positions.data(), 0};
    mask.Fill({39, offset + 39}, {&run, 1}, 40, rows->data(), 48);
  }
  EXPECT_TRUE(HasBits(far, near));
}

}  // namespace
}  // namespace telltale::model
