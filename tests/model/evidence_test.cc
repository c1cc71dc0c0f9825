#include "model/scoring/evidence.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/random.h"

namespace telltale::model {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

// Two horizons, two channels, of which the second is followed for novelty.
Scoring SmallScoring() {
  Scoring scoring;
  scoring.residuals.horizons = 2;
  scoring.residuals.targets = 2;
  scoring.novelty.weight = {0, 1};
  for (size_t i = 0; i < scoring.residuals.layout().count(); ++i) {
    Random random(i);
    std::vector<float> magnitudes(5000);
    for (float& v : magnitudes) {
      v = static_cast<float>(std::abs(random.Normal()));
    }
    scoring.curves.push_back(TailCurve::Fit(magnitudes, 0.1F));
  }
  const auto slow = scoring.curves.end() - ptrdiff_t{2} * kSlowViews;
  scoring.lagged_curves.assign(slow, scoring.curves.end());
  return scoring;
}

class EvidenceTest : public testing::Test {
 protected:
  std::vector<ChannelEvidence> Judge() {
    std::vector<ChannelEvidence> channels(2);
    JudgeViews(scoring_, views_, channels);
    return channels;
  }
  float Of(size_t view) const {
    return scoring_.curves[view].Evidence(views_[view]);
  }

  const Scoring scoring_ = SmallScoring();
  const ViewLayout layout_ = scoring_.residuals.layout();
  std::vector<float> views_ = std::vector<float>(layout_.count(), 0.1F);
};

TEST_F(EvidenceTest, IsThatOfTheWorstHorizonAndView) {
  views_[layout_.Magnitude(0)] = 5;
  EXPECT_EQ(Judge()[0].horizon, 0);
  EXPECT_EQ(Judge()[0].evidence, Of(layout_.Magnitude(0)));

  views_[layout_.Average(1, 0)] = 9;
  EXPECT_EQ(Judge()[0].horizon, 1);
  EXPECT_EQ(Judge()[0].evidence, Of(layout_.Average(1, 0)));

  views_[layout_.Absence(0)] = 15;
  EXPECT_EQ(Judge()[0].evidence, Of(layout_.Absence(0)));

  views_[layout_.Level(0)] = 20;
  EXPECT_EQ(Judge()[0].evidence, Of(layout_.Level(0)));

  views_[layout_.Slow(SlowView::kResidual, 0)] = 30;
  EXPECT_EQ(Judge()[0].evidence, Of(layout_.Slow(SlowView::kResidual, 0)));
}

TEST_F(EvidenceTest, AHorizonWithoutAResidualIsNotTheOneToShow) {
  views_[layout_.Average(1, 0)] = kMissing;

  EXPECT_EQ(Judge()[0].horizon, 0);
  EXPECT_LT(Judge()[0].evidence, 2);
}

TEST_F(EvidenceTest, AChannelWithoutResidualsIsNotJudged) {
  views_[layout_.Magnitude(0)] = kMissing;
  for (int h : {0, 1}) views_[layout_.Average(h, 0)] = kMissing;
  views_[layout_.Absence(0)] = kMissing;

  EXPECT_EQ(Judge()[0].horizon, -1);
  EXPECT_EQ(Judge()[0].evidence, 0);
}

TEST_F(EvidenceTest, NoveltyIsWeighedAgainstResiduals) {
  views_[layout_.Magnitude(1)] = 4;
  float sum = 0;
  for (SlowView view :
       {SlowView::kHabituated, SlowView::kShape, SlowView::kDistance}) {
    views_[layout_.Slow(view, 1)] = 6;
    views_[layout_.Slow(view, 0)] = 6;  // is not followed
    sum += Of(layout_.Slow(view, 1));
  }

  // A weight of one: the mean of both.
  EXPECT_FLOAT_EQ(Judge()[1].evidence,
                  (Of(layout_.Magnitude(1)) + sum / 3) / 2);
  EXPECT_LT(Judge()[0].evidence, 2);
}

TEST_F(EvidenceTest, OfTheSameSlowViewsIsTheSameLagged) {
  Random random(77);
  for (float& view : views_) view = static_cast<float>(5 * random.Uniform());
  std::vector<float> fast(2);
  std::vector<float> lagged(2);

  JudgeFastViews(scoring_, views_, fast);
  JudgeLaggedViews(
      scoring_, fast,
      std::span(views_).subspan(layout_.Slow(SlowView::kResidual, 0)), lagged);

  EXPECT_EQ(lagged[0], Judge()[0].evidence);
  EXPECT_EQ(lagged[1], Judge()[1].evidence);
}

}  // namespace
}  // namespace telltale::model
