// Opens the files that earlier versions wrote.

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/storage/record_codec.h"
#include "server/storage/score_schema.h"
#include "server/storage/sqlite.h"
#include "tests/server/store_fixture.h"

namespace telltale::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// As version 1 made it, letter by letter: a copy, so that no later change of
// the program can change what this test opens.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE streams(
  stream_id INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  mode INTEGER NOT NULL,
  UNIQUE(tenant, name, mode));
CREATE TABLE models(
  model_id INTEGER PRIMARY KEY,
  version TEXT NOT NULL,
  name TEXT NOT NULL,
  channels BLOB NOT NULL,
  UNIQUE(version, name));
CREATE TABLE windows(
  window_id INTEGER PRIMARY KEY,
  stream_id INTEGER NOT NULL REFERENCES streams,
  epoch INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  payload_hash BLOB NOT NULL,
  model_id INTEGER NOT NULL REFERENCES models,
  threshold REAL NOT NULL,
  stored_ns INTEGER NOT NULL,
  first_instant INTEGER NOT NULL,
  added_instants INTEGER NOT NULL,
  first_time_ns INTEGER NOT NULL,
  last_time_ns INTEGER NOT NULL,
  time_ns BLOB NOT NULL,
  samples BLOB NOT NULL,
  crc INTEGER NOT NULL,
  UNIQUE(stream_id, epoch, sequence));
CREATE TABLE instants(
  stream_id INTEGER NOT NULL REFERENCES streams,
  time_ns INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  state INTEGER NOT NULL,
  score REAL NOT NULL,
  probability REAL NOT NULL,
  anomaly INTEGER NOT NULL,
  severity INTEGER NOT NULL,
  missing INTEGER NOT NULL,
  evidence BLOB NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY(stream_id, time_ns, epoch, sequence)) WITHOUT ROWID;
PRAGMA user_version=1;
)sql";

class ScoreStoreSchemaTest : public StoreFixture {
 protected:
  // A version 1 file with one window of two instants.
  void WriteVersion1(const WindowRecord& record) {
    store_.reset();
    std::filesystem::remove(path_);
    auto connection = SqliteConnection::OpenWriter(path_);
    ASSERT_TRUE(connection.ok());
    ASSERT_TRUE(connection->Execute(kVersion1).ok());
    ASSERT_TRUE(connection
                    ->Execute("INSERT INTO streams VALUES(1, 'default', "
                              "'craft', 0)")
                    .ok());
    auto model =
        connection->Prepare("INSERT INTO models VALUES(1, ?1, 'fake', ?2)");
    ASSERT_TRUE(model.ok());
    const std::string channels = EncodeChannels(record.model->channels);
    ASSERT_TRUE(model->BindText(1, record.model->version)
                    .BindBlob(2, channels)
                    .Run()
                    .ok());
    auto window = connection->Prepare(
        "INSERT INTO windows VALUES(1, 1, 1, 1, ?1, 1, 11.5, 0, 0, 2, 10, 12, "
        "?2, ?3, ?4)");
    ASSERT_TRUE(window.ok());
    const std::string hash(record.payload_hash.begin(),
                           record.payload_hash.end());
    ASSERT_TRUE(window->BindBlob(1, hash)
                    .BindBlob(2, BytesOf(record.time_ns))
                    .BindBlob(3, BytesOf(record.samples))
                    .Bind(4, int64_t{WindowCrc(record)})
                    .Run()
                    .ok());
    for (const model::InstantScore& instant : record.instants) {
      auto row = connection->Prepare(
          "INSERT INTO instants VALUES(1, ?1, 1, 1, 0, ?2, 0.5, ?3, 0, 0, ?4, "
          "?5)");
      ASSERT_TRUE(row.ok());
      const std::string evidence = EncodeEvidence(instant);
      ASSERT_TRUE(
          row->Bind(1, instant.time_ns)
              .Bind(2, double{instant.score})
              .Bind(3, int64_t{instant.anomaly})
              .BindBlob(4, evidence)
              .Bind(5, int64_t{InstantCrc(record.key, 1, 1, instant, evidence)})
              .Run()
              .ok());
    }
  }
};

TEST_F(ScoreStoreSchemaTest, OpensAVersion1FileAndGoesOnWithIt) {
  WindowRecord record = Record(1, 1, {10, 12});
  record.reception_time_ns.clear();  // version 1 had none
  WriteVersion1(record);

  Reopen();

  const auto window = FindWindow(1, 1);
  ASSERT_TRUE(window.ok()) << window.status();
  EXPECT_THAT(window->time_ns, ElementsAre(10, 12));
  EXPECT_TRUE(window->reception_time_ns.empty());
  ScoreQuery query;
  query.anomalies_only = true;  // by the index that version 2 added
  EXPECT_EQ(List(query).size(), 1U);
  EXPECT_TRUE(Append(Record(1, 2, {13}, 2)).ok());
  EXPECT_EQ(List({}).size(), 3U);
  store_.reset();
  auto connection = SqliteConnection::OpenWriter(path_);
  EXPECT_EQ(connection->QueryInt64("PRAGMA user_version").value(),
            ScoreSchemaVersion());
}

TEST_F(ScoreStoreSchemaTest, RefusesAFileOfALaterVersionUntouched) {
  store_.reset();
  Damage("PRAGMA user_version=99");

  const auto opened = SqliteScoreStore::Open({.path = path_});

  EXPECT_TRUE(absl::IsFailedPrecondition(opened.status()));
  EXPECT_THAT(std::string(opened.status().message()),
              HasSubstr("the store has version 99"));
  auto connection = SqliteConnection::OpenWriter(path_);
  EXPECT_EQ(connection->QueryInt64("PRAGMA user_version").value(), 99);
}

}  // namespace
}  // namespace telltale::server
