// What the store says when its file or its disk fails it.

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/store_fixture.h"
#include "tests/support/full_disk.h"

namespace telltale::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Statuses from the store's own threads.
class Reports {
 public:
  void Add(absl::Status status) {
    const std::lock_guard lock(mutex_);
    statuses_.push_back(std::move(status));
    changed_.notify_all();
  }
  std::vector<absl::Status> Await(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return statuses_.size() >= count; });
    return statuses_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<absl::Status> statuses_;
};

class StoreFailureTest : public StoreFixture {
 protected:
  // One line with the file's name and `words`.
  auto Says(const std::string& words) {
    return AllOf(HasSubstr(path_.string()), HasSubstr(words),
                 Not(HasSubstr("\n")));
  }
  static std::string Message(const absl::Status& status) {
    return std::string(status.message());
  }

  // Overwrites the first page of a table; the store must be closed.
  void Scribble(const std::string& table) {
    int64_t page = 0;
    int64_t page_size = 0;
    {
      auto connection = SqliteConnection::OpenWriter(path_);
      ASSERT_TRUE(connection.ok());
      const std::string query =
          "SELECT rootpage FROM sqlite_master WHERE name = '" + table + "'";
      page = connection->QueryInt64(query.c_str()).value();
      page_size = connection->QueryInt64("PRAGMA page_size").value();
    }
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp((page - 1) * page_size);
    file << std::string(static_cast<size_t>(page_size), '\xA5');
    ASSERT_TRUE(file.good());
  }
};

TEST_F(StoreFailureTest, AFullDiskIsReportedOnceAndTriedUntilThereIsRoom) {
  testing::FullDisk::Prepare();
  Reports reports;
  SqliteScoreStore::Options options{.path = path_};
  options.on_writable = [&reports](absl::Status status) {
    reports.Add(std::move(status));
  };
  options.on_fatal = [](const absl::Status& status) {
    ADD_FAILURE() << status;
  };
  options.probe_interval = std::chrono::milliseconds(1);
  Reopen(options);
  ASSERT_TRUE(Append(Record(1, 1, {10})).ok());

  {
    testing::FullDisk disk;
    for (int i = 0; i < 2; ++i) {
      const absl::Status refused = Append(Record(1, 2, {11}, 1));
      EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
      EXPECT_THAT(Message(refused), Says("make room"));
    }
  }
  const std::vector<absl::Status> seen = reports.Await(2);

  ASSERT_EQ(seen.size(), 2U);
  EXPECT_THAT(Message(seen[0]), Says("the disk is full"));
  EXPECT_TRUE(seen[1].ok());
  EXPECT_TRUE(Append(Record(1, 2, {11}, 1)).ok());
  EXPECT_EQ(List({}).size(), 2U);
}

TEST_F(StoreFailureTest, DamageMetWhileWritingIsFatalAndNamesTheFile) {
  ASSERT_TRUE(Append(Record(1, 1, {10, 11})).ok());
  store_.reset();
  Scribble("instants");
  Reports reports;
  SqliteScoreStore::Options options{.path = path_};
  options.on_fatal = [&reports](absl::Status status) {
    reports.Add(std::move(status));
  };
  Reopen(options);

  const absl::Status refused = Append(Record(1, 2, {12}, 2));

  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(Message(refused), Says("put a copy of it back"));
  EXPECT_THAT(Message(reports.Await(1)[0]), Says("the store is damaged"));
}

TEST_F(StoreFailureTest, DamageMetWhileReadingNamesTheFile) {
  ASSERT_TRUE(Append(Record(1, 1, {10, 11})).ok());
  store_.reset();
  Scribble("windows");
  Reopen();

  EXPECT_THAT(Message(FindWindow(1, 1).status()), Says("the store is damaged"));

  store_.reset();
  std::filesystem::remove(path_);
  Reopen();
  ASSERT_TRUE(Append(Record(1, 1, {10, 11})).ok());
  store_.reset();
  Damage("UPDATE instants SET score = 3.25 WHERE time_ns = 11");
  Reopen();
  EXPECT_THAT(Message(FindWindow(1, 1).status()),
              AllOf(Says("time_ns 11"), HasSubstr("begin another epoch")));
}

TEST_F(StoreFailureTest, AFileThatIsNoStoreIsRefusedWithAdvice) {
  store_.reset();
  std::ofstream(path_, std::ios::trunc) << "time,pressure\n0,1\n";

  const auto opened = SqliteScoreStore::Open({.path = path_});

  EXPECT_TRUE(absl::IsDataLoss(opened.status())) << opened.status();
  EXPECT_THAT(Message(opened.status()), Says("give the path of a store"));
}

TEST_F(StoreFailureTest, AnotherProgramsDatabaseIsRefusedUntouched) {
  store_.reset();
  std::filesystem::remove(path_);
  for (const char* sql :
       {"CREATE TABLE recipes(name TEXT)", "PRAGMA user_version = 2"}) {
    Damage(sql);

    const auto opened = SqliteScoreStore::Open({.path = path_});

    EXPECT_TRUE(absl::IsFailedPrecondition(opened.status())) << opened.status();
    EXPECT_THAT(Message(opened.status()),
                Says("a database of another program"));
    auto connection = SqliteConnection::OpenWriter(path_);
    EXPECT_EQ(
        connection->QueryInt64("SELECT count(*) FROM sqlite_master").value(),
        1);
  }
}

}  // namespace
}  // namespace telltale::server
