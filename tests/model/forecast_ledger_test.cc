#include "model/scoring/forecast_ledger.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace telltale::model {
namespace {

using testing::ElementsAre;
using testing::Optional;

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

EncoderConfig TwoHorizons() {
  EncoderConfig config;
  config.input_width = 4;
  config.targets = 2;
  config.horizons = {1, 8};
  return config;
}

// The forecast made at `index`: 100 * index plus the column.
std::vector<float> ForecastOf(int64_t index) {
  std::vector<float> forecast(4);
  for (size_t i = 0; i < 4; ++i) {
    forecast[i] = static_cast<float>(100 * index + static_cast<int64_t>(i));
  }
  return forecast;
}

const std::vector<float> kSamples = {3, 5};

class ForecastLedgerTest : public testing::Test {
 protected:
  // Instants from `first` on at these positions.
  void Record(int64_t first, const std::vector<double>& positions) {
    for (size_t i = 0; i < positions.size(); ++i) {
      const int64_t index = first + static_cast<int64_t>(i);
      ledger_.Record(index, positions[i], ForecastOf(index), kSamples);
    }
  }
  void RecordRegularly(int64_t count, double step = 1) {
    for (int64_t i = 0; i < count; ++i) {
      ledger_.Record(i, step * static_cast<double>(i), ForecastOf(i), kSamples);
    }
  }

  const EncoderConfig config_ = TwoHorizons();
  ForecastLedger ledger_{config_};
};

TEST_F(ForecastLedgerTest, FindsTheForecastMadeTheHorizonBefore) {
  RecordRegularly(200);

  for (int64_t index = 200; index > 190; --index) {
    const auto position = static_cast<double>(index);
    EXPECT_THAT(ledger_.MadeAt(index, position, 0), Optional(index - 1));
    EXPECT_THAT(ledger_.MadeAt(index, position, 1), Optional(index - 8));
  }
  EXPECT_THAT(ledger_.At(192), ElementsAre(19200, 19201, 19202, 19203));
}

TEST_F(ForecastLedgerTest, HasNothingForTheFirstInstants) {
  EXPECT_EQ(ledger_.MadeAt(0, 0, 0), std::nullopt);
  RecordRegularly(5);

  EXPECT_THAT(ledger_.MadeAt(5, 5, 0), Optional(4));
  EXPECT_EQ(ledger_.MadeAt(5, 5, 1), std::nullopt);
  EXPECT_THAT(ledger_.MadeAt(1, 1, 0), Optional(0));
}

TEST_F(ForecastLedgerTest, LetsAForecastForAGapMeetNothing) {
  RecordRegularly(20);

  // Instant 20 comes 100 cadences late: nobody forecast that far.
  EXPECT_EQ(ledger_.MadeAt(20, 119, 0), std::nullopt);
  EXPECT_EQ(ledger_.MadeAt(20, 119, 1), std::nullopt);
}

TEST_F(ForecastLedgerTest, MeetsByPositionAcrossAGap) {
  RecordRegularly(20);  // the last at position 19

  // Instants 20 to 26 were lost; the next is 27: its horizon of 8 was forecast
  // at position 19, and of 1 at the lost 26.
  EXPECT_EQ(ledger_.MadeAt(20, 27, 0), std::nullopt);
  EXPECT_THAT(ledger_.MadeAt(20, 27, 1), Optional(19));
}

TEST_F(ForecastLedgerTest, FollowsSamplingUpToFourTimesAsDense) {
  for (const int density : {2, 3, 4}) {
    ForecastLedger ledger(config_);
    for (int64_t i = 0; i < 300; ++i) {
      ledger.Record(i, static_cast<double>(i) / density, ForecastOf(i),
                    kSamples);
    }
    for (int horizon = 0; horizon < 2; ++horizon) {
      const auto made = ledger.MadeAt(300, 300.0 / density, horizon);
      ASSERT_TRUE(made.has_value()) << density;
      const double distance = static_cast<double>(300 - *made) / density -
                              config_.horizons[static_cast<size_t>(horizon)];
      EXPECT_LT(std::abs(distance), 0.5) << density;
    }
  }
}

TEST_F(ForecastLedgerTest, FollowsSparserSampling) {
  RecordRegularly(50, 2);  // every other instant of training

  // Eight cadences are four of these instants; one cadence is none.
  EXPECT_THAT(ledger_.MadeAt(50, 100, 1), Optional(46));
  EXPECT_EQ(ledger_.MadeAt(50, 100, 0), std::nullopt);
}

TEST_F(ForecastLedgerTest, AllowsLessThanHalfACadenceOfJitter) {
  Record(0, {0, 1.4, 2});

  EXPECT_THAT(ledger_.MadeAt(3, 2.5, 0), Optional(1));   // aims at 1.5
  EXPECT_THAT(ledger_.MadeAt(3, 3.49, 0), Optional(2));  // aims at 2.49
  EXPECT_EQ(ledger_.MadeAt(3, 3.5, 0), std::nullopt);    // half a cadence off
}

TEST_F(ForecastLedgerTest, LooksBeforeTheInstantOnly) {
  RecordRegularly(30);

  // Asked about an instant that itself, and later ones, are already recorded.
  EXPECT_THAT(ledger_.MadeAt(20, 20, 0), Optional(19));
  EXPECT_EQ(ledger_.MadeAt(20, 25, 0), std::nullopt);
}

TEST_F(ForecastLedgerTest, ForgetsWhatIsFourHorizonsOld) {
  RecordRegularly(34);  // instant 0 has been written over by instant 33

  EXPECT_EQ(ledger_.MadeAt(8, 8, 1), std::nullopt);
  EXPECT_THAT(ledger_.MadeAt(9, 9, 1), Optional(1));
}

TEST_F(ForecastLedgerTest, StartsAnywhere) {
  Record(1'000'000, {0, 1, 2, 3, 4, 5, 6, 7});

  EXPECT_THAT(ledger_.MadeAt(1'000'008, 8, 1), Optional(1'000'000));
  EXPECT_EQ(ledger_.MadeAt(1'000'004, 4, 1), std::nullopt);
}

TEST_F(ForecastLedgerTest, TakesResidualsFromTheForecastThatMeets) {
  RecordRegularly(20);
  std::vector<float> residuals(4);
  std::vector<int64_t> made_at(2);

  ledger_.Residuals(20, 20, std::vector<float>{2000, kMissing}, residuals,
                    made_at);

  EXPECT_THAT(made_at, ElementsAre(19, 12));
  EXPECT_EQ(residuals[0], 2000 - 1900);
  EXPECT_EQ(residuals[2], 2000 - 1202);
  EXPECT_TRUE(std::isnan(residuals[1]));
  EXPECT_TRUE(std::isnan(residuals[3]));
}

TEST_F(ForecastLedgerTest, GivesNoResidualWhereNothingWasForecast) {
  RecordRegularly(4);
  std::vector<float> residuals(4);
  std::vector<int64_t> made_at(2);

  ledger_.Residuals(4, 4, std::vector<float>{400, 400}, residuals, made_at);

  EXPECT_THAT(made_at, ElementsAre(3, -1));
  EXPECT_EQ(residuals[0], 100);
  EXPECT_TRUE(std::isnan(residuals[2]));
  EXPECT_TRUE(std::isnan(residuals[3]));
}

TEST_F(ForecastLedgerTest, GoesOnFromSavedBytes) {
  RecordRegularly(50);
  std::string bytes;
  ledger_.Save(bytes);

  ForecastLedger restored(config_);
  std::string_view view = bytes;
  ASSERT_TRUE(restored.Restore(view));

  EXPECT_TRUE(view.empty());
  EXPECT_THAT(restored.MadeAt(50, 50, 1), Optional(42));
  EXPECT_THAT(restored.At(42), ElementsAre(4200, 4201, 4202, 4203));
  std::string_view cut = std::string_view(bytes).substr(1);
  EXPECT_FALSE(restored.Restore(cut));
}

TEST_F(ForecastLedgerTest, AChangeIsTheForecastLessTheLevelOfLate) {
  RecordRegularly(60);
  std::vector<float> change(2);

  ledger_.Change(50, 1, change);

  // The samples never moved: they are their own level.
  EXPECT_THAT(change, ElementsAre(5002 - 3, 5003 - 5));
}

TEST_F(ForecastLedgerTest, ALevelFollowsTheSamplesSlowlyAndPassesOverMissing) {
  RecordRegularly(50);
  const std::vector<float> risen = {4, kMissing};
  ledger_.Record(50, 50, ForecastOf(50), risen);
  std::vector<float> change(2);

  ledger_.Change(50, 0, change);

  // A tenth of the rise counts at once; the weights before add up to nearly
  // nine tenths.
  EXPECT_NEAR(5000 - change[0], 3.1, 0.01);
  EXPECT_EQ(5001 - change[1], 5);
}

TEST_F(ForecastLedgerTest, NothingChangesWhereNothingWasForecast) {
  std::vector<float> change(2);

  ledger_.Change(-1, 0, change);

  EXPECT_TRUE(std::isnan(change[0]) && std::isnan(change[1]));
}

}  // namespace
}  // namespace telltale::model
