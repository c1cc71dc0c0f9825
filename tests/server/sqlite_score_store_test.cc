#include "server/storage/sqlite_score_store.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <limits>
#include <sqlite3.h>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/storage/sqlite.h"
#include "tests/server/store_fixture.h"

namespace telltale::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using SqliteScoreStoreTest = StoreFixture;

TEST_F(SqliteScoreStoreTest, FindsEveryBitAfterReopen) {
  const WindowRecord written = Record(1, 1, {10, 11, 12});
  ASSERT_TRUE(Append(written).ok());
  Reopen();

  const auto read = FindWindow(1, 1);

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->time_ns, written.time_ns);
  EXPECT_EQ(0, std::memcmp(read->samples.data(), written.samples.data(),
                           written.samples.size() * sizeof(float)));
  EXPECT_EQ(read->reception_time_ns, written.reception_time_ns);
  EXPECT_EQ(read->payload_hash, written.payload_hash);
  EXPECT_EQ(read->first_instant, written.first_instant);
  EXPECT_EQ(read->added_instants, written.added_instants);
  EXPECT_EQ(*read->model, *written.model);
  EXPECT_EQ(read->threshold, written.threshold);
  ASSERT_EQ(read->instants.size(), 3U);
  EXPECT_EQ(read->instants[2].score, written.instants[2].score);
  EXPECT_EQ(read->instants[2].anomaly, written.instants[2].anomaly);
  ASSERT_EQ(read->instants[2].points_back_to.size(), 1U);
  EXPECT_EQ(read->instants[2].points_back_to[0].lag, 2);
}

TEST_F(SqliteScoreStoreTest, StoresAWindowOnceAndRefusesOtherContent) {
  ASSERT_TRUE(Append(Record(1, 1, {10})).ok());

  EXPECT_TRUE(Append(Record(1, 1, {10})).ok());
  WindowRecord other = Record(1, 1, {10});
  other.payload_hash[0] ^= 1;
  EXPECT_TRUE(absl::IsAlreadyExists(Append(other)));

  EXPECT_EQ(List({}).size(), 1U);
}

TEST_F(SqliteScoreStoreTest, RefusesAGapAndStoresTheRestOfTheGroup) {
  EXPECT_TRUE(absl::IsFailedPrecondition(Append(Record(1, 2, {10}))));
  EXPECT_TRUE(Append(Record(1, 1, {10})).ok());
  EXPECT_TRUE(Append(Record(1, 2, {11})).ok());
}

TEST_F(SqliteScoreStoreTest, KeepsTenantsAndModesApart) {
  WindowRecord other_tenant = Record(1, 1, {10});
  other_tenant.key.tenant = "other";
  WindowRecord playback = Record(1, 1, {10, 11});
  playback.key.mode = StreamMode::kPlayback;
  ASSERT_TRUE(Append(other_tenant).ok());
  ASSERT_TRUE(Append(playback).ok());

  EXPECT_TRUE(absl::IsNotFound(FindWindow(1, 1).status()));
  EXPECT_TRUE(absl::IsNotFound(Page({}).status()));
  ScoreQuery query;
  query.key.mode = StreamMode::kPlayback;
  EXPECT_EQ(List(query).size(), 2U);
}

TEST_F(SqliteScoreStoreTest, FindsTheTailOfTheNewestEpoch) {
  ASSERT_TRUE(Append(Record(1, 1, {10, 11})).ok());
  ASSERT_TRUE(Append(Record(2, 1, {20, 21}, 0)).ok());
  ASSERT_TRUE(Append(Record(2, 2, {22, 23}, 2)).ok());
  ASSERT_TRUE(Append(Record(2, 3, {24, 25}, 4)).ok());

  const auto tail = FindTail({.key = Key(), .instants = 3});

  ASSERT_TRUE(tail.ok()) << tail.status();
  EXPECT_EQ(tail->epoch, 2);
  EXPECT_EQ(tail->last_sequence, 3);
  EXPECT_EQ(tail->instant_count, 6);
  ASSERT_EQ(tail->windows.size(), 2U);
  EXPECT_THAT(tail->windows[0].time_ns, ElementsAre(22, 23));
  EXPECT_THAT(tail->windows[1].time_ns, ElementsAre(24, 25));
}

TEST_F(SqliteScoreStoreTest, FindsTheTailUpToAnInstant) {
  ASSERT_TRUE(Append(Record(1, 1, {10, 11}, 0)).ok());
  ASSERT_TRUE(Append(Record(1, 2, {12, 13}, 2)).ok());
  ASSERT_TRUE(Append(Record(1, 3, {14, 15}, 4)).ok());
  TailQuery query{.key = Key(), .instants = 100};
  query.until_time_ns = 12;

  const auto tail = FindTail(query);

  ASSERT_TRUE(tail.ok()) << tail.status();
  EXPECT_EQ(tail->last_sequence, 2);
  EXPECT_EQ(tail->windows.size(), 2U);
  query.until_time_ns = 99;
  EXPECT_TRUE(absl::IsNotFound(FindTail(query).status()));
}

TEST_F(SqliteScoreStoreTest, PagesThroughEveryInstantOnce) {
  for (int64_t s = 1; s <= 7; ++s) {
    ASSERT_TRUE(Append(Record(1, s, {s * 10, s * 10 + 1, s * 10 + 2})).ok());
  }
  // The same instants once more in a later epoch: they follow in the listing.
  ASSERT_TRUE(Append(Record(2, 1, {10, 11})).ok());

  for (const int page_size : {1, 2, 5, 100}) {
    ScoreQuery query;
    query.limit = page_size;
    const std::vector<StoredScore> all = List(query);
    ASSERT_EQ(all.size(), 23U);
    EXPECT_EQ(all[0].epoch, 1);
    EXPECT_EQ(all[1].epoch, 2);
    for (size_t i = 1; i < all.size(); ++i) {
      EXPECT_LE(all[i - 1].instant.time_ns, all[i].instant.time_ns);
    }
  }
}

TEST_F(SqliteScoreStoreTest, FiltersByTimeScoreAnomalyAndEpoch) {
  ASSERT_TRUE(Append(Record(1, 1, {10, 11, 12})).ok());  // scores 10, 11, 12
  ASSERT_TRUE(Append(Record(2, 1, {11})).ok());

  ScoreQuery query;
  query.start_time_ns = 11;
  query.end_time_ns = 12;
  EXPECT_EQ(List(query).size(), 2U);
  query.epoch = 1;
  EXPECT_EQ(List(query).size(), 1U);
  query = {};
  query.min_score = 11.5F;
  ASSERT_EQ(List(query).size(), 1U);
  EXPECT_EQ(List(query)[0].instant.time_ns, 12);
  query = {};
  query.anomalies_only = true;
  ASSERT_EQ(List(query).size(), 1U);
  EXPECT_EQ(List(query)[0].threshold, 11.5F);
  EXPECT_EQ(List(query)[0].model->name, "fake");
}

TEST_F(SqliteScoreStoreTest, ReportsADamagedRowAsDataLossNeverAsANumber) {
  ASSERT_TRUE(Append(Record(1, 1, {10, 11})).ok());
  store_.reset();
  Damage("UPDATE instants SET score = 3.25 WHERE time_ns = 11");
  Reopen();

  const auto page = Page({});
  EXPECT_TRUE(absl::IsDataLoss(page.status()));
  EXPECT_THAT(std::string(page.status().message()), HasSubstr("time_ns 11"));
  EXPECT_TRUE(absl::IsDataLoss(FindWindow(1, 1).status()));
}

TEST_F(SqliteScoreStoreTest, ReportsADamagedWindowAsDataLoss) {
  ASSERT_TRUE(Append(Record(1, 1, {10, 11})).ok());
  store_.reset();
  Damage("UPDATE windows SET samples = zeroblob(length(samples))");
  Reopen();

  EXPECT_TRUE(
      absl::IsDataLoss(FindTail({.key = Key(), .instants = 1}).status()));
}

TEST_F(SqliteScoreStoreTest, RefusesASecondServerOnTheSameFile) {
  const auto second = SqliteScoreStore::Open({.path = path_});

  EXPECT_TRUE(absl::IsFailedPrecondition(second.status()));
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("another server"));
}

TEST_F(SqliteScoreStoreTest, RefusesAFileThatCannotBeWritten) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write every file";
  store_.reset();
  std::filesystem::permissions(path_, std::filesystem::perms::owner_read);

  const auto opened = SqliteScoreStore::Open({.path = path_});

  EXPECT_TRUE(absl::IsFailedPrecondition(opened.status())) << opened.status();
  EXPECT_THAT(std::string(opened.status().message()),
              HasSubstr("cannot be written"));
}

TEST_F(SqliteScoreStoreTest, AnswersEverythingThatWasAcceptedBeforeItCloses) {
  std::vector<std::future<absl::Status>> appended;
  for (int64_t s = 1; s <= 50; ++s) {
    auto done = std::make_shared<std::promise<absl::Status>>();
    appended.push_back(done->get_future());
    store_->Append(Record(1, s, {s}), [done](absl::Status status) {
      done->set_value(std::move(status));
    });
  }
  store_.reset();

  for (auto& status : appended) EXPECT_TRUE(status.get().ok());
  Reopen();
  EXPECT_EQ(List({}).size(), 50U);
}

TEST_F(SqliteScoreStoreTest, BoundsWhatWaitsForTheWriter) {
  store_.reset();
  SqliteScoreStore::Options options{.path = path_};
  options.max_queued_bytes = 1;
  Reopen(options);

  EXPECT_TRUE(absl::IsResourceExhausted(Append(Record(1, 1, {10}))));
}

}  // namespace
}  // namespace telltale::server
