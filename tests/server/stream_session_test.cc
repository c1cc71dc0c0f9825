#include "server/streaming/stream_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/session_fixture.h"

namespace telltale::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using StreamSessionTest = SessionFixture;

std::vector<float> ScoresOf(const std::vector<StreamReply>& replies) {
  std::vector<float> scores;
  for (const StreamReply& reply : replies) {
    const auto* scored = std::get_if<WindowScored>(&reply.content);
    if (scored == nullptr) continue;
    for (const auto& instant : scored->score.instants) {
      scores.push_back(instant.score);
    }
  }
  return scores;
}

TEST_F(StreamSessionTest, OpensANewStreamAtSequenceOne) {
  Open(sink_);

  EXPECT_THAT(Summaries(sink_->Await(1)), ElementsAre("opened 1"));
}

TEST_F(StreamSessionTest, AnswersWindowsInOrderOnceTheyAreStored) {
  auto session = Open(sink_);
  store_.Hold();
  for (int64_t s = 1; s <= 3; ++s) session->Take(Window(s, s * 4, 4));
  control_->AwaitCalls(3);
  EXPECT_EQ(sink_->count(), 1U);  // `opened`: nothing is durable yet

  // Appends may still be on their way into the store; they are answered either
  // way.
  store_.Release();

  EXPECT_THAT(Summaries(sink_->Await(4)),
              ElementsAre("opened 1", "scored 1", "scored 2", "scored 3"));
}

TEST_F(StreamSessionTest, RefusesAWindowThatIsNotNextAndGoesOnWhenItComes) {
  auto session = Open(sink_);

  session->Take(Window(2, 4, 4));
  session->Take(Window(1, 0, 4));
  session->Take(Window(2, 4, 4));

  EXPECT_THAT(Summaries(sink_->Await(4)),
              ElementsAre("opened 1", "rejected 2 FAILED_PRECONDITION",
                          "scored 1", "scored 2"));
}

TEST_F(StreamSessionTest, AnswersTheSameContentAgainWithTheStoredScores) {
  auto session = Open(sink_);
  session->Take(Window(1, 0, 4));
  session->Take(Window(2, 4, 4));
  sink_->Await(3);

  session->Take(Window(1, 0, 4));

  const auto replies = sink_->Await(4);
  EXPECT_EQ(Summary(replies[3]), "scored 1 again");
  EXPECT_EQ(ScoresOf({replies[1]}), ScoresOf({replies[3]}));
  EXPECT_EQ(control_->batch_sizes().size(), 2U);  // not scored twice
}

TEST_F(StreamSessionTest, AnswersADuplicateOfAWindowStillInFlightAfterIt) {
  auto session = Open(sink_);
  sink_->Await(1);
  control_->Close();
  session->Take(Window(1, 0, 4));
  session->Take(Window(1, 0, 4));
  control_->Open();

  EXPECT_THAT(Summaries(sink_->Await(3)),
              ElementsAre("opened 1", "scored 1", "scored 1 again"));
}

TEST_F(StreamSessionTest, RefusesOtherContentUnderAStoredSequence) {
  auto session = Open(sink_);
  session->Take(Window(1, 0, 4));
  sink_->Await(2);

  session->Take(Window(1, 0, 4, 0.5F));
  session->Take(Window(2, 4, 4));

  EXPECT_THAT(Summaries(sink_->Await(4)),
              ElementsAre("opened 1", "scored 1", "rejected 1 ALREADY_EXISTS",
                          "scored 2"));
}

TEST_F(StreamSessionTest, TakesFourWindowsInFlightAndRefusesTheFifth) {
  auto session = Open(sink_);
  sink_->Await(1);
  control_->Close();
  for (int64_t s = 1; s <= 6; ++s) session->Take(Window(s, s * 4, 4));
  control_->Open();

  EXPECT_THAT(Summaries(sink_->Await(7)),
              ElementsAre("opened 1", "scored 1", "scored 2", "scored 3",
                          "scored 4", "rejected 5 RESOURCE_EXHAUSTED",
                          "rejected 6 FAILED_PRECONDITION"));
}

TEST_F(StreamSessionTest, KeepsTheOrderOfRefusalsToo) {
  auto session = Open(sink_);
  sink_->Await(1);
  control_->Close();
  session->Take(Window(1, 0, 4));
  session->Refuse(2, absl::InvalidArgumentError("not a window"));
  control_->Open();

  EXPECT_THAT(
      Summaries(sink_->Await(3)),
      ElementsAre("opened 1", "scored 1", "rejected 2 INVALID_ARGUMENT"));
}

TEST_F(StreamSessionTest, GoesOnBitForBitAfterReopening) {
  auto whole_sink = std::make_shared<RecordingSink>();
  auto whole = Open(whole_sink, 1);
  for (int64_t s = 1; s <= 9; ++s) {
    whole->Take(Window(s, s * 4, 4));
    whole_sink->Await(s + 1);
  }
  const std::vector<float> expected = ScoresOf(whole_sink->Await(10));
  Close(whole);

  std::vector<float> found;
  for (int64_t s = 1; s <= 9; ++s) {
    auto sink = std::make_shared<RecordingSink>();
    auto session = Open(sink, 2);
    ASSERT_EQ(Summary(sink->Await(1)[0]), "opened " + std::to_string(s));
    session->Take(Window(s, s * 4, 4));
    for (const float score : ScoresOf(sink->Await(2))) found.push_back(score);
    Close(session);
  }

  EXPECT_EQ(found, expected);
}

TEST_F(StreamSessionTest, BeginsAHigherEpochAfreshAndRefusesALowerOne) {
  auto session = Open(sink_, 5);
  session->Take(Window(1, 0, 4));
  sink_->Await(2);
  Close(session);

  auto higher = std::make_shared<RecordingSink>();
  auto next = Open(higher, 6);
  next->Take(Window(1, 0, 4));
  EXPECT_THAT(Summaries(higher->Await(2)), ElementsAre("opened 1", "scored 1"));
  EXPECT_EQ(ScoresOf(higher->Await(2)), ScoresOf(sink_->Await(2)));
  Close(next);

  auto lower = std::make_shared<RecordingSink>();
  auto late = Open(lower, 5);
  const auto replies = lower->Await(1);
  EXPECT_EQ(Summary(replies[0]), "rejected 0 FAILED_PRECONDITION");
  EXPECT_THAT(
      std::string(
          std::get<WindowRejected>(replies[0].content).reason.message()),
      HasSubstr("epoch 6 is stored"));
  EXPECT_TRUE(late->closed());
}

TEST_F(StreamSessionTest, PassesOverKnownInstantsAndReportsLateOnes) {
  auto session = Open(sink_);
  session->Take(Window(1, 10, 4));  // seconds 10 to 13
  session->Take(Window(2, 20, 2));  // 20 and 21: a gap before them
  // 13 and 20, 21 are known; 14 to 19 come late; 22 is new.
  session->Take(Window(3, 13, 10));

  const auto replies = sink_->Await(4);
  const auto& instants =
      std::get<WindowScored>(replies[3].content).score.instants;
  ASSERT_EQ(instants.size(), 7U);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(instants[i].time_ns, (14 + i) * kSecond);
    EXPECT_EQ(instants[i].state, model::InstantState::kLate);
  }
  EXPECT_EQ(instants[6].time_ns, 22 * kSecond);
  EXPECT_EQ(instants[6].state, model::InstantState::kScored);
}

TEST_F(StreamSessionTest, RebuildsTheStreamWhenAWindowCannotBeStored) {
  auto session = Open(sink_);
  session->Take(Window(1, 0, 4));
  sink_->Await(2);
  store_.FailAppends(1, absl::UnavailableError("the disk is full"));

  session->Take(Window(2, 4, 4));
  session->Take(Window(3, 8, 4));
  sink_->Await(4);
  session->Take(Window(2, 4, 4));
  session->Take(Window(3, 8, 4));

  const auto replies = sink_->Await(6);
  EXPECT_THAT(
      Summaries(replies),
      ElementsAre("opened 1", "scored 1", "rejected 2 UNAVAILABLE",
                  "rejected 3 FAILED_PRECONDITION", "scored 2", "scored 3"));
  EXPECT_EQ(store_.appended(), 3);

  auto undisturbed_sink = std::make_shared<RecordingSink>();
  Close(session);
  auto undisturbed = Open(undisturbed_sink, 1);
  for (int64_t s = 1; s <= 3; ++s) {
    undisturbed->Take(Window(s, (s - 1) * 4, 4));
  }
  EXPECT_EQ(ScoresOf(undisturbed_sink->Await(4)), ScoresOf(replies));
}

TEST_F(StreamSessionTest, RebuildsTheStreamWhenTheDetectorFails) {
  auto session = Open(sink_);
  session->Take(Window(1, 0, 4));
  sink_->Await(2);
  control_->FailNext(absl::InternalError("the forecast is not finite"));

  session->Take(Window(2, 4, 4));
  sink_->Await(3);
  session->Take(Window(2, 4, 4));

  EXPECT_THAT(
      Summaries(sink_->Await(4)),
      ElementsAre("opened 1", "scored 1", "rejected 2 INTERNAL", "scored 2"));
}

TEST_F(StreamSessionTest, DrainsAfterAnsweringWhatWasAccepted) {
  auto session = Open(sink_);
  sink_->Await(1);
  control_->Close();
  session->Take(Window(1, 0, 4));
  session->Take(Window(2, 4, 4));
  session->Drain();
  session->Take(Window(3, 8, 4));
  EXPECT_FALSE(session->drained());
  control_->Open();

  EXPECT_THAT(Summaries(sink_->Await(5)),
              ElementsAre("opened 1", "scored 1", "scored 2",
                          "rejected 3 UNAVAILABLE", "draining 3"));
  EXPECT_TRUE(session->drained());
}

TEST_F(StreamSessionTest, FreesTheStreamOnlyWhenNothingIsOnTheWay) {
  auto session = Open(sink_);
  sink_->Await(1);
  control_->Close();
  session->Take(Window(1, 0, 4));
  session->Take(Window(2, 4, 4));
  control_->AwaitCalls(1);
  session->Detach();
  std::erase(sessions_, session);
  session.reset();

  EXPECT_TRUE(absl::IsAborted(
      registry_.Open({.tenant = "default", .stream = "craft"}).status()));
  control_->Open();
  while (registry_.open_streams() > 0) std::this_thread::yield();

  // The first was being scored and is kept; the second was dropped.
  EXPECT_EQ(store_.appended(), 1);
}

TEST_F(StreamSessionTest, TellsThatAnotherClientHasTheStream) {
  Open(sink_);

  const auto second =
      registry_.Open({.tenant = "default", .stream = "craft"}).status();

  EXPECT_TRUE(absl::IsAborted(second));
  EXPECT_THAT(std::string(second.message()), HasSubstr("'craft'"));
  EXPECT_TRUE(
      registry_.Open({.tenant = "other", .stream = "craft"}).status().ok());
}

}  // namespace
}  // namespace telltale::server
