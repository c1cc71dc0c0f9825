#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <sqlite3.h>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace telltale::server {

// The connection's last error, on one line: the file, what is wrong, SQLite's
// extended code, and what to do. kDataLoss: a damaged file, or no store.
// kResourceExhausted: the disk is full. kUnavailable: locked.
// kFailedPrecondition: it may not be written. kInternal: everything else.
absl::Status SqliteError(sqlite3* connection);

// kDataLoss: rows that can be read and make no sense. `what` names them.
absl::Status DamagedRows(sqlite3* connection, std::string_view what);

// A prepared statement. Used by the thread of its connection, which must
// outlive it.
class SqliteStatement {
 public:
  SqliteStatement() = default;

  static absl::StatusOr<SqliteStatement> Prepare(sqlite3* connection,
                                                 const char* sql);

  // Parameters are numbered from 1. Text and blobs must stay alive until the
  // next Reset. A failed Bind shows in the next Step.
  SqliteStatement& Bind(int index, int64_t value);
  SqliteStatement& Bind(int index, double value);
  SqliteStatement& BindText(int index, std::string_view value);
  SqliteStatement& BindBlob(int index, std::string_view value);
  SqliteStatement& BindNull(int index);

  // True: there is a row to read. False: done.
  absl::StatusOr<bool> Step();
  // For statements without rows.
  absl::Status Run();
  // Makes ready for the next use; parameters are forgotten.
  void Reset();

  // Columns of the current row, numbered from 0. Views last until the next
  // Step or Reset.
  int64_t Int64(int column) const;
  double Double(int column) const;
  std::string_view Text(int column) const;
  std::string_view Blob(int column) const;
  bool IsNull(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const {
      sqlite3_finalize(statement);
    }
  };

  void Remember(int code) {
    if (code != SQLITE_OK && bind_code_ == SQLITE_OK) bind_code_ = code;
  }

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bind_code_ = SQLITE_OK;
};

// Resets a statement when it leaves scope, so that no read transaction outlives
// its query.
class StatementReset {
 public:
  explicit StatementReset(SqliteStatement& statement) : statement_(statement) {}
  ~StatementReset() { statement_.Reset(); }
  StatementReset(const StatementReset&) = delete;
  StatementReset& operator=(const StatementReset&) = delete;

 private:
  SqliteStatement& statement_;
};

// A connection. Used by one thread at a time.
class SqliteConnection {
 public:
  // Creates the file when missing. The pragmas that durability and safety rest
  // on are set and read back.
  static absl::StatusOr<SqliteConnection> OpenWriter(
      const std::filesystem::path& path);
  // Never writes, never checkpoints.
  static absl::StatusOr<SqliteConnection> OpenReader(
      const std::filesystem::path& path);

  absl::Status Execute(const char* sql);
  absl::StatusOr<SqliteStatement> Prepare(const char* sql) {
    return SqliteStatement::Prepare(get(), sql);
  }
  // The single integer that `sql` yields.
  absl::StatusOr<int64_t> QueryInt64(const char* sql);

  sqlite3* get() const { return connection_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
  };

  static absl::StatusOr<SqliteConnection> Open(
      const std::filesystem::path& path, int flags);
  absl::Status Harden();
  // That a setting was kept: SQLite ignores what it was built without.
  absl::Status ExpectPragma(std::string_view name, int64_t expected);

  std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace telltale::server
