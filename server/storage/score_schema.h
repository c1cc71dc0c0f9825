#pragma once

#include <filesystem>

#include "absl/status/status.h"

#include "server/storage/sqlite.h"

namespace telltale::server {

// The version of the tables that this program reads and writes, kept in the
// file's user_version.
int ScoreSchemaVersion();

// Brings a new or older file up to ScoreSchemaVersion(), one version at a time,
// each in a transaction of its own. `path` is for messages.
// kFailedPrecondition: a later program, or one of another kind, wrote the file.
absl::Status MigrateScoreSchema(SqliteConnection& connection,
                                const std::filesystem::path& path);

}  // namespace telltale::server
