#include "server/storage/sqlite.h"

#include <string>
#include <utility>

#include "absl/strings/str_format.h"

namespace telltale::server {
namespace {

// How long a reader waits for a lock; only schema changes ever hold one.
constexpr int kBusyTimeoutMs = 2000;
// The largest blob or row, well above the largest window.
constexpr int kMaxRowBytes = 64 << 20;

// What an error means to whoever runs the server.
struct Meaning {
  absl::StatusCode code;
  std::string_view what;
  std::string_view advice;
};

Meaning MeaningOf(int sqlite_code) {
  switch (sqlite_code & 0xFF) {
    case SQLITE_CORRUPT:
      return {absl::StatusCode::kDataLoss, "the store is damaged",
              "put a copy of it back, or begin another file; `sqlite3 FILE "
              ".recover` saves what can still be read"};
    case SQLITE_NOTADB:
      return {absl::StatusCode::kDataLoss, "the file is no store",
              "give the path of a store, or of a file that is not there yet"};
    case SQLITE_FULL:
      return {absl::StatusCode::kResourceExhausted, "the disk is full",
              "make room on it"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {absl::StatusCode::kUnavailable,
              "another program keeps the store locked", "close that program"};
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      return {absl::StatusCode::kFailedPrecondition,
              "the store cannot be written",
              "change the permissions of the file and its directory, or give "
              "another file"};
    case SQLITE_IOERR:
      return {absl::StatusCode::kInternal,
              "the disk failed to read or write the store",
              "look after the disk, then start the server again"};
    default:
      return {absl::StatusCode::kInternal, sqlite3_errstr(sqlite_code),
              "start the server again; if that does not help, give another "
              "file"};
  }
}

// Absolute; empty for a connection that is not open.
std::string FileOf(sqlite3* connection) {
  const char* path = sqlite3_db_filename(connection, "main");
  return path == nullptr ? "" : path;
}

}  // namespace

absl::Status SqliteError(sqlite3* connection) {
  // SQLite's own message is left out: it may quote statements, line by line.
  const int code = sqlite3_extended_errcode(connection);
  const Meaning meaning = MeaningOf(code);
  return {meaning.code,
          absl::StrFormat("%s: %s (SQLite code %d); %s", FileOf(connection),
                          meaning.what, code, meaning.advice)};
}

absl::Status DamagedRows(sqlite3* connection, std::string_view what) {
  return absl::DataLossError(
      absl::StrFormat("%s: %s; put the file back from a copy, or begin another "
                      "epoch or another file",
                      FileOf(connection), what));
}

absl::StatusOr<SqliteStatement> SqliteStatement::Prepare(sqlite3* connection,
                                                         const char* sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v3(connection, sql, -1, SQLITE_PREPARE_PERSISTENT, &raw,
                         nullptr) != SQLITE_OK) {
    return SqliteError(connection);
  }
  SqliteStatement statement;
  statement.statement_.reset(raw);
  return statement;
}

SqliteStatement& SqliteStatement::Bind(int index, int64_t value) {
  Remember(sqlite3_bind_int64(statement_.get(), index, value));
  return *this;
}

SqliteStatement& SqliteStatement::Bind(int index, double value) {
  Remember(sqlite3_bind_double(statement_.get(), index, value));
  return *this;
}

SqliteStatement& SqliteStatement::BindText(int index, std::string_view value) {
  Remember(sqlite3_bind_text64(statement_.get(), index, value.data(),
                               value.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

SqliteStatement& SqliteStatement::BindBlob(int index, std::string_view value) {
  // A null pointer would bind NULL: an empty blob is not that.
  Remember(sqlite3_bind_blob64(statement_.get(), index,
                               value.empty() ? "" : value.data(), value.size(),
                               SQLITE_STATIC));
  return *this;
}

SqliteStatement& SqliteStatement::BindNull(int index) {
  Remember(sqlite3_bind_null(statement_.get(), index));
  return *this;
}

absl::StatusOr<bool> SqliteStatement::Step() {
  sqlite3* const connection = sqlite3_db_handle(statement_.get());
  if (bind_code_ != SQLITE_OK) {
    return absl::InternalError(absl::StrFormat(
        "%s: a value cannot be stored or looked up: %s; send less at once",
        FileOf(connection), sqlite3_errstr(bind_code_)));
  }
  switch (sqlite3_step(statement_.get())) {
    case SQLITE_ROW:
      return true;
    case SQLITE_DONE:
      return false;
    default:
      return SqliteError(connection);
  }
}

absl::Status SqliteStatement::Run() {
  absl::Status status = Step().status();
  Reset();
  return status;
}

void SqliteStatement::Reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  bind_code_ = SQLITE_OK;
}

int64_t SqliteStatement::Int64(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double SqliteStatement::Double(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string_view SqliteStatement::Text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::string_view SqliteStatement::Blob(int column) const {
  const void* blob = sqlite3_column_blob(statement_.get(), column);
  if (blob == nullptr) return {};
  return {static_cast<const char*>(blob),
          static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

bool SqliteStatement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

absl::StatusOr<SqliteConnection> SqliteConnection::Open(
    const std::filesystem::path& path, int flags) {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  SqliteConnection connection;
  connection.connection_.reset(raw);
  if (code != SQLITE_OK) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s: cannot open the store: %s; give the path of a file in a directory "
        "that can be written",
        path.string(), sqlite3_errstr(code)));
  }
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, kBusyTimeoutMs);
  if (absl::Status status = connection.Harden(); !status.ok()) return status;
  return connection;
}

// The file may come from anywhere: what it says is data, never code.
absl::Status SqliteConnection::Harden() {
  sqlite3_db_config(get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(get(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(get(), SQLITE_LIMIT_LENGTH, kMaxRowBytes);
  sqlite3_limit(get(), SQLITE_LIMIT_SQL_LENGTH, 100'000);
  sqlite3_limit(get(), SQLITE_LIMIT_EXPR_DEPTH, 20);
  sqlite3_limit(get(), SQLITE_LIMIT_ATTACHED, 0);
  // A first read finds out whether this is a database at all.
  for (const char* sql : {"PRAGMA schema_version", "PRAGMA trusted_schema=OFF",
                          "PRAGMA cell_size_check=ON", "PRAGMA mmap_size=0",
                          "PRAGMA temp_store=MEMORY"}) {
    if (absl::Status status = Execute(sql); !status.ok()) return status;
  }
  if (absl::Status status = ExpectPragma("trusted_schema", 0); !status.ok()) {
    return status;
  }
  return ExpectPragma("cell_size_check", 1);
}

absl::StatusOr<SqliteConnection> SqliteConnection::OpenWriter(
    const std::filesystem::path& path) {
  absl::StatusOr<SqliteConnection> connection =
      Open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (!connection.ok()) return connection;
  // SQLite falls back to reading when it may not write, and would fail at the
  // first window only.
  if (sqlite3_db_readonly(connection->get(), "main") != 0) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s: the store cannot be written; change the file's permissions or "
        "give another file",
        path.string()));
  }
  // 1000 pages: SQLite checkpoints by itself inside a commit of this very
  // connection, never from another one.
  for (const char* sql :
       {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL",
        "PRAGMA wal_autocheckpoint=1000", "PRAGMA journal_size_limit=33554432",
        "PRAGMA foreign_keys=ON"}) {
    if (absl::Status status = connection->Execute(sql); !status.ok()) {
      return status;
    }
  }
  absl::Status status = connection->ExpectPragma("synchronous", 2);
  if (status.ok()) {
    status = connection->ExpectPragma("foreign_keys", 1);
  }
  if (!status.ok()) return status;
  absl::StatusOr<SqliteStatement> mode =
      connection->Prepare("PRAGMA journal_mode");
  if (!mode.ok()) return mode.status();
  if (!mode->Step().value_or(false) || mode->Text(0) != "wal") {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s: this file system cannot hold a write-ahead log (journal mode is "
        "'%s'); put the store on a local disk",
        path.string(), mode->Text(0)));
  }
  mode->Reset();
  return connection;
}

absl::StatusOr<SqliteConnection> SqliteConnection::OpenReader(
    const std::filesystem::path& path) {
  absl::StatusOr<SqliteConnection> connection =
      Open(path, SQLITE_OPEN_READONLY);
  if (!connection.ok()) return connection;
  if (absl::Status status = connection->Execute("PRAGMA wal_autocheckpoint=0");
      !status.ok()) {
    return status;
  }
  return connection;
}

absl::Status SqliteConnection::Execute(const char* sql) {
  if (sqlite3_exec(get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    return SqliteError(get());
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> SqliteConnection::QueryInt64(const char* sql) {
  absl::StatusOr<SqliteStatement> statement = Prepare(sql);
  if (!statement.ok()) return statement.status();
  const absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  if (!*row) {
    return absl::NotFoundError(
        absl::StrFormat("%s: a question has no answer", FileOf(get())));
  }
  const int64_t value = statement->Int64(0);
  statement->Reset();
  return value;
}

absl::Status SqliteConnection::ExpectPragma(std::string_view name,
                                            int64_t expected) {
  const std::string query = absl::StrFormat("PRAGMA %s", name);
  const absl::StatusOr<int64_t> value = QueryInt64(query.c_str());
  if (!value.ok()) return value.status();
  if (*value == expected) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "%s: the SQLite library does not keep its setting %s: %d instead of %d; "
      "install the one of the distribution",
      FileOf(get()), name, *value, expected));
}

}  // namespace telltale::server
