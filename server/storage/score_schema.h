#pragma once

#include "absl/status/status.h"

#include "server/storage/sqlite.h"

namespace telltale::server {

// The version of the tables that this program reads and writes, kept in the
// file's user_version.
int ScoreSchemaVersion();

// Brings a new or older file up to ScoreSchemaVersion(), one version at a time,
// each in a transaction of its own. kFailedPrecondition: a later program wrote
// the file.
absl::Status MigrateScoreSchema(SqliteConnection& connection);

}  // namespace telltale::server
