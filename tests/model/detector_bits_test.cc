// What a stream is told depends, to the bit, on the stream alone.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/detector.h"
#include "model/random.h"
#include "tests/support/plant.h"
#include "tests/support/plant_detector.h"

namespace telltale::model {
namespace {

constexpr int kLength = 560;

// One stream on its way through a series.
struct Passenger {
  data::Series series;
  std::unique_ptr<StreamState> state;
  int next = 0;
  std::vector<InstantScore> scores;

  explicit Passenger(uint64_t seed)
      : series(EventfulSeries(seed, kLength)),
        state(PlantDetector().NewStream()) {}

  bool done() const { return next == series.length(); }
  data::Window Take(int count) {
    const int end = std::min(series.length(), next + count);
    data::Window window = series.Slice(next, end).value();
    next = end;
    return window;
  }
};

// What is asked for besides scores.
struct Extras {
  bool with_attention = false;
  bool with_masking = false;
};

// Advances some of the passengers, in this order, in one call.
void AdvanceTogether(const std::vector<Passenger*>& passengers,
                     const std::vector<int>& counts, Extras extras = {}) {
  std::vector<data::Window> windows;
  windows.reserve(passengers.size());
  std::vector<StreamWindow> work;
  for (size_t i = 0; i < passengers.size(); ++i) {
    windows.push_back(passengers[i]->Take(counts[i]));
    work.push_back({passengers[i]->state.get(), &windows.back(),
                    extras.with_attention, extras.with_masking});
  }
  const auto results = PlantDetector().Advance(work).value();
  ASSERT_EQ(results.size(), passengers.size());
  for (size_t i = 0; i < passengers.size(); ++i) {
    passengers[i]->scores.insert(passengers[i]->scores.end(),
                                 results[i].instants.begin(),
                                 results[i].instants.end());
  }
}

class DetectorBitsTest : public testing::Test {
 protected:
  // The verdicts on a series that advanced alone, instant by instant.
  static const std::vector<std::string>& Alone(uint64_t seed) {
    static std::vector<std::vector<std::string>> known(4);
    std::vector<std::string>& texts = known[seed];
    if (texts.empty()) texts = Texts(Score(EventfulSeries(seed, kLength), 1));
    return texts;
  }
};

TEST_F(DetectorBitsTest, SeesAlarmsThatPointBackInItsSeries) {
  // Otherwise the tests below would compare little.
  const std::vector<InstantScore> scores = Score(EventfulSeries(0, kLength));
  int alarms_in_dense_part = 0;
  for (size_t t = 0; t < scores.size(); ++t) {
    if (!scores[t].anomaly) continue;
    EXPECT_FALSE(scores[t].contributions.empty());
    if (t > 330 && t <= 400) ++alarms_in_dense_part;
  }
  EXPECT_GE(CountAlarms(scores), 20);
  EXPECT_GE(alarms_in_dense_part, 1);
}

TEST_F(DetectorBitsTest, ScoresDoNotDependOnTheSplitIntoWindows) {
  for (const int window : {2, 7, 16, 17, 250, kLength}) {
    EXPECT_EQ(Texts(Score(EventfulSeries(0, kLength), window)), Alone(0))
        << "windows of " << window;
  }
}

TEST_F(DetectorBitsTest, ScoresDoNotDependOnARandomSplitIntoWindows) {
  Random random(77);
  for (int round = 0; round < 5; ++round) {
    Passenger passenger(0);
    while (!passenger.done()) {
      AdvanceTogether({&passenger}, {1 + static_cast<int>(random.Below(50))});
    }
    EXPECT_EQ(Texts(passenger.scores), Alone(0)) << "round " << round;
  }
}

TEST_F(DetectorBitsTest, ScoresDoNotDependOnBatchNeighboursOrTheirOrder) {
  Random random(78);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<Passenger>> passengers;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      passengers.push_back(std::make_unique<Passenger>(seed));
    }
    while (true) {
      std::vector<Passenger*> aboard;
      std::vector<int> counts;
      for (const auto& passenger : passengers) {
        if (passenger->done() || random.Uniform() < 0.2) continue;
        aboard.insert(aboard.begin() +
                          random.Below(static_cast<int64_t>(aboard.size() + 1)),
                      passenger.get());
      }
      if (std::ranges::all_of(passengers, &Passenger::done)) break;
      if (aboard.empty()) continue;
      for (size_t i = 0; i < aboard.size(); ++i) {
        counts.push_back(1 + static_cast<int>(random.Below(40)));
      }
      AdvanceTogether(aboard, counts);
    }
    for (uint64_t seed = 0; seed < 4; ++seed) {
      EXPECT_EQ(Texts(passengers[seed]->scores), Alone(seed)) << seed;
    }
  }
}

TEST_F(DetectorBitsTest, StreamsDoNotLeakIntoEachOther) {
  // Beside a stream of ruins the other two see what they see alone.
  Passenger first(0);
  Passenger ruin(1);
  Passenger second(2);
  for (int c = 0; c < kPlantChannels; ++c) {
    Overwrite(ruin.series, c, 0, kLength, c % 2 == 0 ? 1e30F : -1e30F);
  }
  while (!first.done()) {
    AdvanceTogether({&first, &ruin, &second}, {16, 16, 16});
  }

  EXPECT_EQ(Texts(first.scores), Alone(0));
  EXPECT_EQ(Texts(second.scores), Alone(2));
  // Nor does a stream find anything of those that its detector saw before.
  EXPECT_EQ(Texts(Score(EventfulSeries(0, kLength), 16)), Alone(0));
}

TEST_F(DetectorBitsTest, AskingForAttentionChangesNoBit) {
  Passenger curious(0);
  Passenger incurious(1);
  while (!curious.done()) {
    AdvanceTogether({&curious, &incurious}, {30, 30}, {.with_attention = true});
  }

  EXPECT_EQ(Texts(curious.scores), Alone(0));
  EXPECT_EQ(Texts(incurious.scores), Alone(1));
}

// The verdicts without what the masking check adds.
std::vector<std::string> TextsWithoutMasking(std::vector<InstantScore> scores) {
  for (InstantScore& score : scores) {
    score.masking.reset();
    for (PointedInstant& p : score.points_back_to) p.masking_change = NAN;
  }
  return Texts(scores);
}

TEST_F(DetectorBitsTest, AskingForTheMaskingCheckChangesNoOtherBit) {
  Passenger curious(0);
  Passenger incurious(1);
  while (!curious.done()) {
    AdvanceTogether({&curious, &incurious}, {30, 30}, {.with_masking = true});
  }

  EXPECT_EQ(TextsWithoutMasking(curious.scores), Alone(0));
  const auto checked = [](const InstantScore& s) {
    return s.masking.has_value();
  };
  EXPECT_GE(std::ranges::count_if(curious.scores, checked), 10);
  EXPECT_EQ(TextsWithoutMasking(incurious.scores), Alone(1));
}

TEST_F(DetectorBitsTest, MaskingWhatIsPointedAtChangesMoreThanAtRandom) {
  double pointed = 0;
  double random = 0;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Passenger passenger(seed);
    while (!passenger.done()) {
      AdvanceTogether({&passenger}, {100}, {.with_masking = true});
    }
    for (const InstantScore& score : passenger.scores) {
      if (!score.masking) continue;
      pointed += score.masking->pointed;
      random += score.masking->random;
    }
  }
  EXPECT_GT(pointed, 2 * random);
}

TEST_F(DetectorBitsTest, TheMaskingCheckDependsOnTheStreamAlone) {
  Passenger alone(0);
  while (!alone.done()) {
    AdvanceTogether({&alone}, {1}, {.with_masking = true});
  }
  Random random(79);
  for (int round = 0; round < 3; ++round) {
    Passenger mine(0);
    Passenger other(1 + static_cast<uint64_t>(round));
    while (!mine.done()) {
      AdvanceTogether({&other, &mine},
                      {1 + static_cast<int>(random.Below(20)),
                       1 + static_cast<int>(random.Below(50))},
                      {.with_masking = true});
    }
    EXPECT_EQ(Texts(mine.scores), Texts(alone.scores)) << "round " << round;
  }
}

TEST_F(DetectorBitsTest, FourThreadsAtOnceGiveEachStreamItsScores) {
  for (uint64_t seed = 0; seed < 4; ++seed) Alone(seed);
  std::vector<std::vector<std::string>> found(4);
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&found, seed] {
      for (int round = 0; round < 3; ++round) {
        found[seed] = Texts(
            Score(EventfulSeries(seed, kLength), static_cast<int>(3 + seed)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  for (uint64_t seed = 0; seed < 4; ++seed) {
    EXPECT_EQ(found[seed], Alone(seed)) << seed;
  }
}

TEST_F(DetectorBitsTest, AStreamMayMoveFromThreadToThread) {
  Passenger passenger(0);
  while (!passenger.done()) {
    std::thread([&] { AdvanceTogether({&passenger}, {100}); }).join();
  }

  EXPECT_EQ(Texts(passenger.scores), Alone(0));
}

TEST_F(DetectorBitsTest, PassesOverInstantsAlreadySeen) {
  const data::Series series = EventfulSeries(0, kLength);
  const Detector& detector = PlantDetector();
  const auto state = detector.NewStream();
  std::vector<InstantScore> scores;
  // Every window begins 20 instants before the last one's end.
  for (int end = 50; end <= kLength; end += 30) {
    const auto more =
        Advance(detector, *state, series, std::max(0, end - 50), end, 50);
    EXPECT_EQ(more.size(), end == 50 ? 50 : 30);
    scores.insert(scores.end(), more.begin(), more.end());
  }

  std::vector<std::string> expected = Alone(0);
  expected.resize(scores.size());
  EXPECT_EQ(Texts(scores), expected);
}

TEST_F(DetectorBitsTest, SaysNothingOnAWindowOfThePast) {
  const data::Series series = EventfulSeries(0, kLength);
  const Detector& detector = PlantDetector();
  const auto state = detector.NewStream();
  Advance(detector, *state, series, 0, 100);
  const int64_t count = state->instant_count();

  EXPECT_TRUE(Advance(detector, *state, series, 20, 90).empty());
  EXPECT_EQ(state->instant_count(), count);
  EXPECT_EQ(state->last_time_ns(), series.time_ns[99]);
}

}  // namespace
}  // namespace telltale::model
