#include "server/storage/sqlite_score_store.h"

#include <algorithm>
#include <fcntl.h>
#include <iterator>
#include <string>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_format.h"
#include <sys/file.h>

namespace telltale::server {
namespace {

// What a waiting window takes in memory, roughly.
int64_t BytesIn(const WindowRecord& record) {
  size_t bytes = sizeof(record) + record.time_ns.size() * sizeof(int64_t) +
                 record.samples.size() * sizeof(float) +
                 record.reception_time_ns.size() * sizeof(int64_t);
  for (const model::InstantScore& instant : record.instants) {
    bytes += sizeof(instant) +
             instant.contributions.size() * sizeof(model::Contribution) +
             instant.points_back_to.size() * sizeof(model::PointedInstant);
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace

// Keeps a second server from the same file. A file of its own, because closing
// any other handle of the database would drop SQLite's locks.
class SqliteScoreStore::FileLock {
 public:
  static absl::StatusOr<std::unique_ptr<FileLock>> Take(
      const std::filesystem::path& store) {
    const std::string path = store.string() + ".lock";
    const int descriptor =
        open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "%s: cannot be created; put the store in a directory that can be "
          "written",
          path));
    }
    std::unique_ptr<FileLock> lock(new FileLock(descriptor));
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      return absl::FailedPreconditionError(
          absl::StrFormat("%s: another server has this store open; stop it or "
                          "give another file",
                          store.string()));
    }
    return lock;
  }

  ~FileLock() { close(descriptor_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  const int descriptor_;
};

absl::StatusOr<std::unique_ptr<SqliteScoreStore>> SqliteScoreStore::Open(
    Options options) {
  absl::StatusOr<std::unique_ptr<FileLock>> lock = FileLock::Take(options.path);
  if (!lock.ok()) return lock.status();
  absl::StatusOr<SqliteScoreWriter> writer =
      SqliteScoreWriter::Open(options.path);
  if (!writer.ok()) return writer.status();
  std::vector<SqliteScoreReader> readers;
  for (int i = 0; i < std::max(1, options.reader_threads); ++i) {
    absl::StatusOr<SqliteScoreReader> reader =
        SqliteScoreReader::Open(options.path);
    if (!reader.ok()) return reader.status();
    readers.push_back(std::move(*reader));
  }
  return std::unique_ptr<SqliteScoreStore>(
      new SqliteScoreStore(std::move(options), std::move(*lock),
                           std::move(*writer), std::move(readers)));
}

SqliteScoreStore::SqliteScoreStore(Options options,
                                   std::unique_ptr<FileLock> lock,
                                   SqliteScoreWriter writer,
                                   std::vector<SqliteScoreReader> readers)
    : options_(std::move(options)),
      lock_(std::move(lock)),
      writer_(std::move(writer)),
      readers_(std::move(readers)),
      writer_thread_([this] { WriteUntilStopped(); }) {
  for (SqliteScoreReader& reader : readers_) {
    reader_threads_.emplace_back([this, &reader] { ReadUntilStopped(reader); });
  }
}

SqliteScoreStore::~SqliteScoreStore() {
  // The writer first: what its callbacks still ask is answered.
  {
    const std::lock_guard lock(mutex_);
    writing_ends_ = true;
  }
  window_waits_.notify_all();
  writer_thread_.join();
  {
    const std::lock_guard lock(mutex_);
    reading_ends_ = true;
  }
  read_waits_.notify_all();
  for (std::thread& thread : reader_threads_) thread.join();
  // Readers close first: the writer's connection is the last one, and does the
  // last checkpoint.
  readers_.clear();
}

void SqliteScoreStore::Append(WindowRecord record,
                              Callback<absl::Status> done) {
  const int64_t bytes = BytesIn(record);
  {
    const std::lock_guard lock(mutex_);
    if (!writing_ends_ &&
        static_cast<int>(windows_.size()) < options_.max_queued_windows &&
        window_bytes_ + bytes <= options_.max_queued_bytes) {
      windows_.push_back({std::move(record), bytes, std::move(done)});
      window_bytes_ += bytes;
      window_waits_.notify_one();
      return;
    }
  }
  done(absl::ResourceExhaustedError("too many windows wait to be stored"));
}

void SqliteScoreStore::WriteUntilStopped() {
  while (true) {
    std::vector<PendingWindow> windows = AwaitWindows();
    if (!windows.empty()) {
      Commit(std::move(windows));
      writer_.ShortenLog();
      continue;
    }
    {
      const std::lock_guard lock(mutex_);
      if (writing_ends_) return;
    }
    NoteOutcome(writer_.Probe());
  }
}

std::vector<SqliteScoreStore::PendingWindow> SqliteScoreStore::AwaitWindows() {
  std::vector<PendingWindow> windows;
  const auto ready = [this] { return writing_ends_ || !windows_.empty(); };
  std::unique_lock lock(mutex_);
  if (refusing_) {
    window_waits_.wait_for(lock, options_.probe_interval, ready);
  } else {
    window_waits_.wait(lock, ready);
  }
  const size_t count = std::min(
      windows_.size(), static_cast<size_t>(options_.max_windows_a_commit));
  const auto end = windows_.begin() + static_cast<ptrdiff_t>(count);
  windows.assign(std::make_move_iterator(windows_.begin()),
                 std::make_move_iterator(end));
  windows_.erase(windows_.begin(), end);
  for (const PendingWindow& window : windows) window_bytes_ -= window.bytes;
  return windows;
}

void SqliteScoreStore::Commit(std::vector<PendingWindow> windows) {
  std::vector<const WindowRecord*> records;
  records.reserve(windows.size());
  for (const PendingWindow& window : windows) {
    records.push_back(&window.record);
  }
  const absl::StatusOr<std::vector<absl::Status>> outcomes =
      failed_.ok() ? writer_.Write(records) : failed_;
  NoteOutcome(outcomes.status());
  if (outcomes.ok()) {
    for (size_t i = 0; i < windows.size(); ++i) {
      windows[i].done((*outcomes)[i]);
    }
    return;
  }
  const absl::Status refused = absl::UnavailableError(absl::StrFormat(
      "the window cannot be stored: %s", outcomes.status().message()));
  for (PendingWindow& window : windows) window.done(refused);
}

void SqliteScoreStore::NoteOutcome(const absl::Status& status) {
  if (!failed_.ok()) return;
  // A full disk may become free again. After any other error it is unknown
  // what reached the disk, and trying again could turn a lost write into a
  // success that never was.
  if (!status.ok() && !absl::IsResourceExhausted(status)) {
    failed_ = absl::UnavailableError(status.message());
    if (options_.on_fatal) options_.on_fatal(failed_);
    return;
  }
  if (status.ok() != refusing_) return;
  refusing_ = !status.ok();
  if (options_.on_writable) options_.on_writable(status);
}

bool SqliteScoreStore::SubmitRead(Read read) {
  const std::lock_guard lock(mutex_);
  if (reading_ends_ ||
      static_cast<int>(reads_.size()) >= options_.max_queued_reads) {
    return false;
  }
  reads_.push_back(std::move(read));
  read_waits_.notify_one();
  return true;
}

void SqliteScoreStore::ReadUntilStopped(SqliteScoreReader& reader) {
  while (true) {
    Read read;
    {
      std::unique_lock lock(mutex_);
      read_waits_.wait(lock,
                       [this] { return reading_ends_ || !reads_.empty(); });
      if (reads_.empty()) return;
      read = std::move(reads_.front());
      reads_.pop_front();
    }
    read(reader);
  }
}

template <typename Result, typename Query>
void SqliteScoreStore::Answer(Query query,
                              Callback<absl::StatusOr<Result>> done) {
  // Copied: a refused read has to be answered as well.
  const bool accepted =
      SubmitRead([query = std::move(query), done](SqliteScoreReader& reader) {
        done(query(reader));
      });
  if (accepted) return;
  done(absl::ResourceExhaustedError(absl::StrFormat(
      "%d queries wait for the store already", options_.max_queued_reads)));
}

void SqliteScoreStore::FindTail(TailQuery query,
                                Callback<absl::StatusOr<StreamTail>> done) {
  Answer<StreamTail>(
      [query = std::move(query)](SqliteScoreReader& reader) {
        return reader.FindTail(query);
      },
      std::move(done));
}

void SqliteScoreStore::FindWindow(StreamKey key, int64_t epoch,
                                  int64_t sequence,
                                  Callback<absl::StatusOr<WindowRecord>> done) {
  Answer<WindowRecord>(
      [key = std::move(key), epoch, sequence](SqliteScoreReader& reader) {
        return reader.FindWindow(key, epoch, sequence);
      },
      std::move(done));
}

void SqliteScoreStore::FindScores(ScoreQuery query,
                                  Callback<absl::StatusOr<ScorePage>> done) {
  Answer<ScorePage>(
      [query = std::move(query)](SqliteScoreReader& reader) {
        return reader.FindScores(query);
      },
      std::move(done));
}

}  // namespace telltale::server
