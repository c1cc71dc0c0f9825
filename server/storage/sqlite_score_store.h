#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/storage/score_store.h"
#include "server/storage/sqlite_score_reader.h"
#include "server/storage/sqlite_score_writer.h"

namespace telltale::server {

// The archive in one SQLite file with a write-ahead log.
//
// One thread writes. When it is idle a window is committed at once; while a
// commit waits for the disk, others gather and go into the next one together,
// so that a slow disk costs latency, not throughput. Further threads read, each
// with a connection of its own.
class SqliteScoreStore final : public ScoreStore {
 public:
  struct Options {
    std::filesystem::path path;
    int reader_threads = 2;
    int max_queued_windows = 4096;        // waiting for the writer
    int64_t max_queued_bytes = 64 << 20;  // of those windows
    int max_queued_reads = 1024;          // waiting for the readers
    int max_windows_a_commit = 256;
    // Called once, on the writer's thread, when the disk has failed in a way
    // that leaves it unknown what is durable: the process must end. Without
    // it, all later writes are refused.
    std::function<void(absl::Status)> on_fatal = nullptr;
    // Called on the writer's thread when a full disk begins to refuse writes,
    // with the reason, and with OK when it takes them again; not called while
    // that does not change.
    std::function<void(absl::Status)> on_writable = nullptr;
    // How often to try, while a full disk refuses writes and no window comes.
    std::chrono::milliseconds probe_interval{1000};
  };

  // Creates, or opens and migrates, the file. kFailedPrecondition: it cannot be
  // opened, another process has it, or a later program wrote it. kDataLoss: it
  // is damaged.
  static absl::StatusOr<std::unique_ptr<SqliteScoreStore>> Open(
      Options options);

  // Writes what was accepted, answers what was asked, then closes the file.
  ~SqliteScoreStore() override;

  SqliteScoreStore(const SqliteScoreStore&) = delete;
  SqliteScoreStore& operator=(const SqliteScoreStore&) = delete;

  void Append(WindowRecord record, Callback<absl::Status> done) override;
  void FindTail(TailQuery query,
                Callback<absl::StatusOr<StreamTail>> done) override;
  void FindWindow(StreamKey key, int64_t epoch, int64_t sequence,
                  Callback<absl::StatusOr<WindowRecord>> done) override;
  void FindScores(ScoreQuery query,
                  Callback<absl::StatusOr<ScorePage>> done) override;

 private:
  struct PendingWindow {
    WindowRecord record;
    int64_t bytes = 0;
    Callback<absl::Status> done;
  };
  using Read = std::function<void(SqliteScoreReader&)>;

  class FileLock;

  SqliteScoreStore(Options options, std::unique_ptr<FileLock> lock,
                   SqliteScoreWriter writer,
                   std::vector<SqliteScoreReader> readers);

  void WriteUntilStopped();
  // The next windows to commit, none when it is time to probe or to stop.
  std::vector<PendingWindow> AwaitWindows();
  void Commit(std::vector<PendingWindow> windows);
  // Whether the last write found room: tells who wants to know.
  void NoteOutcome(const absl::Status& status);
  void ReadUntilStopped(SqliteScoreReader& reader);
  // False: the queue is full; `read` was not taken.
  bool SubmitRead(Read read);

  template <typename Result, typename Query>
  void Answer(Query query, Callback<absl::StatusOr<Result>> done);

  const Options options_;
  const std::unique_ptr<FileLock> lock_;
  SqliteScoreWriter writer_;                // the writer thread's alone
  std::vector<SqliteScoreReader> readers_;  // one a reader thread
  // The writer thread's alone:
  absl::Status failed_;    // why nothing will ever be written again
  bool refusing_ = false;  // the disk is full

  std::mutex mutex_;  // guards the members below
  std::condition_variable window_waits_;
  std::condition_variable read_waits_;
  std::deque<PendingWindow> windows_;
  int64_t window_bytes_ = 0;  // of windows_
  std::deque<Read> reads_;
  bool writing_ends_ = false;
  bool reading_ends_ = false;

  // Last: joined before the members that they use go.
  std::thread writer_thread_;
  std::vector<std::thread> reader_threads_;
};

}  // namespace telltale::server
