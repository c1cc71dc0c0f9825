#pragma once

#include <filesystem>
#include <future>
#include <limits>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "server/storage/sqlite.h"
#include "server/storage/sqlite_score_store.h"
#include "tests/support/fake_detector.h"

namespace telltale::server {

// A store in a file of its own, and calls that wait for their answers.
class StoreFixture : public ::testing::Test {
 public:
  ~StoreFixture() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

 protected:
  StoreFixture() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("telltale_") + test->name() + "_" +
               std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "scores.db";
    Reopen();
  }

  void Reopen() { Reopen({.path = path_}); }
  void Reopen(SqliteScoreStore::Options options) {
    store_.reset();
    auto store = SqliteScoreStore::Open(std::move(options));
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = std::move(*store);
  }

  // Changes the file behind the store's back; the store must be closed.
  void Damage(const char* sql) {
    auto connection = SqliteConnection::OpenWriter(path_);
    ASSERT_TRUE(connection.ok());
    ASSERT_TRUE(connection->Execute(sql).ok());
  }

  static StreamKey Key() { return {.tenant = "default", .stream = "craft"}; }

  // A window of two channels; each instant's score is its time stamp, and 12
  // and beyond are anomalies.
  static WindowRecord Record(int64_t epoch, int64_t sequence,
                             std::vector<int64_t> time_ns,
                             int64_t first_instant = 0) {
    static const auto& label = *new std::shared_ptr<const ModelLabel>(
        std::make_shared<const ModelLabel>(
            ModelLabel{"fake", std::string(64, 'f'),
                       testing::FakeDetector::Make()->description().channels}));
    WindowRecord record;
    record.key = Key();
    record.epoch = epoch;
    record.sequence = sequence;
    record.payload_hash.fill(static_cast<uint8_t>(sequence));
    record.model = label;
    record.threshold = 11.5F;
    record.first_instant = first_instant;
    record.added_instants = static_cast<int32_t>(time_ns.size());
    for (const int64_t time : time_ns) {
      record.samples.push_back(static_cast<float>(time));
      record.samples.push_back(std::numeric_limits<float>::quiet_NaN());
      record.reception_time_ns.push_back(time + 5);
      model::InstantScore& instant = record.instants.emplace_back();
      instant.time_ns = time;
      instant.state = model::InstantState::kScored;
      instant.score = static_cast<float>(time);
      instant.probability = 0.5F;
      instant.anomaly = time >= 12;
      if (!instant.anomaly) continue;
      instant.points_back_to = {{.time_ns = time - 2,
                                 .lag = 2,
                                 .lag_seconds = 2e-9,
                                 .weight = 0.5F,
                                 .channel = 1}};
    }
    record.time_ns = std::move(time_ns);
    return record;
  }

  template <typename T>
  struct Waiter {
    std::shared_ptr<std::promise<T>> promise =
        std::make_shared<std::promise<T>>();

    void operator()(T value) const { promise->set_value(std::move(value)); }
    T Get() { return promise->get_future().get(); }
  };

  absl::Status Append(WindowRecord record) {
    Waiter<absl::Status> waiter;
    store_->Append(std::move(record), waiter);
    return waiter.Get();
  }

  absl::StatusOr<WindowRecord> FindWindow(int64_t epoch, int64_t sequence) {
    Waiter<absl::StatusOr<WindowRecord>> waiter;
    store_->FindWindow(Key(), epoch, sequence, waiter);
    return waiter.Get();
  }

  absl::StatusOr<StreamTail> FindTail(TailQuery query) {
    Waiter<absl::StatusOr<StreamTail>> waiter;
    store_->FindTail(std::move(query), waiter);
    return waiter.Get();
  }

  absl::StatusOr<ScorePage> Page(ScoreQuery query) {
    query.key.tenant = "default";
    query.key.stream = "craft";
    Waiter<absl::StatusOr<ScorePage>> waiter;
    store_->FindScores(std::move(query), waiter);
    return waiter.Get();
  }

  // All pages.
  std::vector<StoredScore> List(ScoreQuery query) {
    std::vector<StoredScore> all;
    do {
      auto page = Page(query);
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) break;
      EXPECT_LE(page->scores.size(), static_cast<size_t>(query.limit));
      for (StoredScore& score : page->scores) all.push_back(std::move(score));
      query.after = page->next;
    } while (query.after);
    return all;
  }

  std::filesystem::path folder_;
  std::filesystem::path path_;
  std::unique_ptr<SqliteScoreStore> store_;
};

}  // namespace telltale::server
