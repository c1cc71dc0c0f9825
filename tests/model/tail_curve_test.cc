#include "model/scoring/tail_curve.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/random.h"

namespace telltale::model {
namespace {

constexpr int kSamples = 200'000;

std::vector<float> Draw(const std::function<double(Random&)>& draw) {
  Random random(11);
  std::vector<float> values(kSamples);
  for (float& value : values) value = static_cast<float>(draw(random));
  return values;
}

double ExponentialDraw(Random& random) {
  return -std::log(1 - random.Uniform());
}

// The generalized Pareto distribution of scale 1 and this shape.
double ParetoDraw(Random& random, double shape) {
  return (std::pow(1 - random.Uniform(), -shape) - 1) / shape;
}

// The value that an exceedance of 10^-decades belongs to.
double ExponentialQuantile(double decades) { return decades * std::log(10.0); }
double ParetoQuantile(double decades, double shape) {
  return (std::pow(10.0, decades * shape) - 1) / shape;
}

TEST(TailCurve, SaysHowRareAnExponentialValueIs) {
  std::vector<float> values = Draw(ExponentialDraw);
  const TailCurve curve = TailCurve::Fit(values, 1e-3F);

  for (const double decades : {0.1, 0.5, 1.0, 1.5, 1.69}) {
    EXPECT_NEAR(
        curve.Evidence(static_cast<float>(ExponentialQuantile(decades))),
        decades, 0.03)
        << "within the quantiles, at 10^-" << decades;
  }
  for (const double decades : {2.0, 3.0, 4.0}) {
    EXPECT_NEAR(
        curve.Evidence(static_cast<float>(ExponentialQuantile(decades))),
        decades, 0.12 * decades)
        << "in the tail, at 10^-" << decades;
  }
}

TEST(TailCurve, FollowsAHeavyTailBeyondTheSample) {
  constexpr double kShape = 0.3;
  std::vector<float> values =
      Draw([](Random& random) { return ParetoDraw(random, kShape); });
  const TailCurve curve = TailCurve::Fit(values, 1e-3F);

  for (const double decades : {0.3, 1.0, 2.0, 4.0, 6.0}) {
    EXPECT_NEAR(
        curve.Evidence(static_cast<float>(ParetoQuantile(decades, kShape))),
        decades, 0.02 + 0.25 * decades)
        << "at 10^-" << decades;
  }
}

TEST(TailCurve, IsCloseForANormalSampleAndNeverOverstatesItsFarTail) {
  std::vector<float> values =
      Draw([](Random& random) { return std::abs(random.Normal()); });
  const TailCurve curve = TailCurve::Fit(values, 1e-3F);

  const auto truth = [](double v) {
    return -std::log10(std::erfc(v / std::sqrt(2.0)));
  };
  for (const double v : {0.2, 1.0, 2.0, 2.5, 3.0}) {
    EXPECT_NEAR(curve.Evidence(static_cast<float>(v)), truth(v), 0.15) << v;
  }
  // Its tail falls faster than any that the curve may have.
  for (const double v : {4.0, 6.0, 10.0}) {
    EXPECT_LT(curve.Evidence(static_cast<float>(v)), truth(v)) << v;
  }
}

TEST(TailCurve, ExceedsAnEvidenceAsOftenAsTheEvidenceSays) {
  std::vector<float> values = Draw(ExponentialDraw);
  const TailCurve curve = TailCurve::Fit(values, 1e-3F);
  Random other(12);
  std::vector<float> fresh(kSamples);
  for (float& value : fresh) value = static_cast<float>(ExponentialDraw(other));

  for (const double decades : {0.5, 1.0, 2.0, 3.0}) {
    int beyond = 0;
    for (const float v : fresh) beyond += curve.Evidence(v) > decades ? 1 : 0;
    const double expected = kSamples * std::pow(10.0, -decades);
    EXPECT_NEAR(beyond, expected, 5 * std::sqrt(expected) + 0.1 * expected)
        << "10^-" << decades;
  }
}

TEST(TailCurve, ClaimsLessOfFewValues) {
  // What one in a million exceeds, as a hundred values tell and as all do.
  const auto far_out = static_cast<float>(ExponentialQuantile(6));
  std::vector<float> values = Draw(ExponentialDraw);
  double sum = 0;
  constexpr int kTries = 200;
  for (int i = 0; i < kTries; ++i) {
    const auto few = std::span(values).subspan(static_cast<size_t>(i) * 100);
    std::vector<float> sample(few.begin(), few.begin() + 100);
    sum += TailCurve::Fit(sample, 1e-3F).Evidence(far_out);
  }
  EXPECT_LT(sum / kTries, 4);
  EXPECT_GT(sum / kTries, 2);
  EXPECT_NEAR(TailCurve::Fit(values, 1e-3F).Evidence(far_out), 6, 0.7);
}

TEST(TailCurve, NeverFalls) {
  std::vector<float> values =
      Draw([](Random& random) { return ParetoDraw(random, 0.2); });
  // Ties, as digitised residuals have them.
  for (float& value : values) value = std::floor(value * 8) / 8;
  const TailCurve curve = TailCurve::Fit(values, 1e-3F);

  float last = 0;
  for (float v = -1; v < 1e6F; v += 0.01F + 0.01F * std::abs(v)) {
    const float evidence = curve.Evidence(v);
    ASSERT_GE(evidence, last) << "at " << v;
    last = evidence;
  }
}

TEST(TailCurve, StaysFiniteForEveryFiniteValue) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  std::vector<float> exponential = Draw(ExponentialDraw);
  std::vector<float> pareto =
      Draw([](Random& random) { return ParetoDraw(random, 0.4); });
  std::vector<float> normal =
      Draw([](Random& random) { return std::abs(random.Normal()); });
  std::vector<float> constant(100, 3.0F);
  std::vector<float> huge = {0.0F, 1e30F, kLargest};
  std::vector<float> one = {1.0F};
  for (std::vector<float>* values :
       {&exponential, &pareto, &normal, &constant, &huge, &one}) {
    const TailCurve curve = TailCurve::Fit(*values, 0.0F);
    ASSERT_TRUE(TailCurve::Check(curve.values()).ok());
    for (const float v :
         {-kLargest, -1.0F, -0.0F, 0.0F, 1e-45F, 1.0F, 1e9F, 1e30F, kLargest}) {
      const float evidence = curve.Evidence(v);
      EXPECT_TRUE(std::isfinite(evidence)) << v << " gives " << evidence;
      EXPECT_GE(evidence, 0) << v;
    }
  }
}

TEST(TailCurve, HoldsAnythingBelowTheSampleForOrdinary) {
  std::vector<float> values = Draw(ExponentialDraw);
  const TailCurve curve = TailCurve::Fit(values, 1e-3F);

  EXPECT_EQ(curve.Evidence(-1), 0);
  EXPECT_EQ(curve.Evidence(-std::numeric_limits<float>::max()), 0);
}

TEST(TailCurve, MeasuresAConstantsSurprisesByTheFloor) {
  std::vector<float> values(1000, 0.0F);
  const TailCurve curve = TailCurve::Fit(values, 0.5F);

  const float at_floor = curve.Evidence(0.5F);
  const float tenfold = curve.Evidence(5);
  EXPECT_GT(at_floor, curve.Evidence(0.0F));
  EXPECT_GT(tenfold, at_floor);
  // A tail that knows no shape is exponential or a little heavier: ten scales
  // are less than 10 / ln 10 decades beyond the 2 % where it begins.
  EXPECT_LT(tenfold, 1.7 + 10 / std::log(10.0));
  EXPECT_GT(tenfold, 3);
}

TEST(TailCurve, KnowsNothingUntilFitted) {
  const TailCurve untouched;
  std::vector<float> none;
  const TailCurve empty = TailCurve::Fit(none, 0.1F);

  for (const float v : {0.0F, 1.0F, 1e9F, 1e30F}) {
    EXPECT_EQ(untouched.Evidence(v), 0) << v;
    EXPECT_EQ(empty.Evidence(v), 0) << v;
  }
  EXPECT_TRUE(TailCurve::Check(untouched.values()).ok());
  EXPECT_TRUE(TailCurve::Check(empty.values()).ok());
}

TEST(TailCurve, DoesNotCareAboutTheOrderOfItsSample) {
  std::vector<float> rising = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> mixed = {5, 1, 8, 2, 7, 3, 6, 4};

  EXPECT_EQ(TailCurve::Fit(rising, 0.1F).values(),
            TailCurve::Fit(mixed, 0.1F).values());
}

TEST(TailCurve, IsRebuiltFromItsValues) {
  std::vector<float> values = Draw(ExponentialDraw);
  const TailCurve curve = TailCurve::Fit(values, 0.1F);
  const TailCurve rebuilt = TailCurve::FromValues(curve.values());

  for (const float v : {0.0F, 0.7F, 3.0F, 30.0F}) {
    EXPECT_EQ(rebuilt.Evidence(v), curve.Evidence(v));
  }
}

TEST(TailCurve, CountsEventsWhereAskedTo) {
  // The same values, every one for itself and every one for ten instants.
  std::vector<float> single = Draw(ExponentialDraw);
  std::vector<float> lasting;
  for (const float value : single) lasting.insert(lasting.end(), 10, value);
  const TailCurve instants = TailCurve::Fit(single, 0.1F);
  const TailCurve events = TailCurve::FitEvents(lasting, 0.1F);

  // A tenth as many events: a decade more. They run into each other at times,
  // which makes them rarer still.
  for (const float v : {5.0F, 8.0F}) {
    EXPECT_GT(events.Evidence(v), instants.Evidence(v) + 0.9F) << v;
    EXPECT_LT(events.Evidence(v), instants.Evidence(v) + 1.4F) << v;
  }
  // Where nothing is rare there is still no evidence, and no step on the way.
  EXPECT_EQ(events.Evidence(0), 0);
  for (float v = 0; v < 12; v += 0.01F) {
    ASSERT_LE(events.Evidence(v), events.Evidence(v + 0.01F)) << v;
    ASSERT_LT(events.Evidence(v + 0.01F) - events.Evidence(v), 0.2F) << v;
  }
}

TEST(TailCurve, MissingValuesCountForNothing) {
  // Every hundred instants four in a row, higher each time.
  std::vector<float> lasting(20'000, 0.0F);
  for (size_t i = 0; i < lasting.size(); i += 100) {
    std::fill_n(&lasting[i], 4, 5.0F + static_cast<float>(i));
  }
  std::vector<float> holed = lasting;
  for (size_t i = 50; i < holed.size(); i += 100) holed[i] = std::nanf("");

  for (const auto& values : {lasting, holed}) {
    const TailCurve events = TailCurve::FitEvents(values, 0.1F);
    EXPECT_NEAR(events.values().back(), std::log10(4.0F), 0.02F);
  }
}

TEST(TailCurve, RefusesWhatIsNoCurve) {
  std::vector<float> values = Draw(ExponentialDraw);
  const std::vector<float> good = TailCurve::Fit(values, 0.1F).values();
  ASSERT_TRUE(TailCurve::Check(good).ok());

  std::vector<float> falling = good;
  std::swap(falling[3], falling[40]);
  std::vector<float> not_finite = good;
  not_finite[5] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> negative_shape = good;
  negative_shape[TailCurve::kQuantiles] = -0.1F;
  std::vector<float> no_scale = good;
  no_scale[TailCurve::kQuantiles + 1] = 0;
  std::vector<float> no_body = good;
  no_body[TailCurve::kQuantiles + 2] = -1;
  std::vector<float> more_events_than_instants = good;
  more_events_than_instants[TailCurve::kQuantiles + 3] = -1;
  std::vector<float> too_short(good.begin(), good.end() - 1);
  for (const auto& bad : {falling, not_finite, negative_shape, no_scale,
                          no_body, more_events_than_instants, too_short}) {
    const absl::Status status = TailCurve::Check(bad);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                testing::HasSubstr("68 finite numbers"));
  }
}

}  // namespace
}  // namespace telltale::model
