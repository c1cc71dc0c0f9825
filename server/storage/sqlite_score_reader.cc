#include "server/storage/sqlite_score_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"

#include "server/storage/record_codec.h"

namespace telltale::server {
namespace {

constexpr size_t kMaxModels = 256;
// How many rows a page may look at before it ends early, so that a rare score
// in a long range cannot hold a reader for seconds.
constexpr int kMaxRowsPerPage = 20'000;

constexpr const char* kWindowsBackwards =
    "SELECT epoch, sequence, payload_hash, model_id, threshold, stored_ns, "
    "first_instant, added_instants, time_ns, samples, reception_time_ns, crc "
    "FROM windows WHERE stream_id = ?1 AND epoch = ?2 AND sequence <= ?3 "
    "ORDER BY sequence DESC";

// Of instants.
#define TELLTALE_SCORE_COLUMNS                                        \
  "i.time_ns, i.epoch, i.sequence, i.state, i.score, i.probability, " \
  "i.anomaly, i.severity, i.missing, i.evidence, i.crc"

}  // namespace

absl::StatusOr<SqliteScoreReader> SqliteScoreReader::Open(
    const std::filesystem::path& path) {
  absl::StatusOr<SqliteConnection> connection =
      SqliteConnection::OpenReader(path);
  if (!connection.ok()) return connection.status();
  SqliteScoreReader reader;
  reader.connection_ = std::move(*connection);
  if (absl::Status status = reader.Prepare(); !status.ok()) return status;
  return reader;
}

absl::Status SqliteScoreReader::Prepare() {
  constexpr const char* kScores =
      "SELECT " TELLTALE_SCORE_COLUMNS
      ", w.threshold, w.model_id FROM instants i JOIN windows w "
      "ON w.stream_id = i.stream_id AND w.epoch = i.epoch AND "
      "w.sequence = i.sequence WHERE i.stream_id = ?1 AND "
      "i.time_ns >= ?2 AND i.time_ns <= ?3 AND "
      "(i.time_ns, i.epoch, i.sequence) > (?2, ?4, ?5) "
      "ORDER BY i.time_ns, i.epoch, i.sequence";
  constexpr const char* kAnomalies =
      "SELECT " TELLTALE_SCORE_COLUMNS
      ", w.threshold, w.model_id FROM instants i INDEXED BY anomalies "
      "JOIN windows w "
      "ON w.stream_id = i.stream_id AND w.epoch = i.epoch AND "
      "w.sequence = i.sequence WHERE i.anomaly = 1 AND i.stream_id = ?1 AND "
      "i.time_ns >= ?2 AND i.time_ns <= ?3 AND "
      "(i.time_ns, i.epoch, i.sequence) > (?2, ?4, ?5) "
      "ORDER BY i.time_ns, i.epoch, i.sequence";
  struct Entry {
    SqliteStatement& statement;
    const char* sql;
  };
  const Entry entries[] = {
      {find_stream_,
       "SELECT stream_id FROM streams "
       "WHERE tenant = ?1 AND name = ?2 AND mode = ?3"},
      {find_model_,
       "SELECT name, version, channels FROM models WHERE model_id = ?1"},
      {last_window_,
       "SELECT epoch, sequence FROM windows WHERE stream_id = ?1 "
       "ORDER BY epoch DESC, sequence DESC LIMIT 1"},
      {last_window_of_epoch_,
       "SELECT epoch, sequence FROM windows WHERE stream_id = ?1 AND "
       "epoch = ?2 ORDER BY sequence DESC LIMIT 1"},
      // A late instant was not advanced over: it has no place in the stream.
      {window_of_instant_,
       "SELECT epoch, sequence FROM instants WHERE stream_id = ?1 AND "
       "time_ns = ?2 AND (?3 IS NULL OR epoch = ?3) AND state <> ?4 "
       "ORDER BY epoch DESC, sequence DESC LIMIT 1"},
      {windows_backwards_, kWindowsBackwards},
      {instants_of_window_,
       "SELECT " TELLTALE_SCORE_COLUMNS
       " FROM instants i WHERE i.stream_id = ?1 AND "
       "i.time_ns BETWEEN ?2 AND ?3 AND i.epoch = ?4 AND i.sequence = ?5 "
       "ORDER BY i.time_ns"},
      {scores_, kScores},
      {anomalies_, kAnomalies},
  };
  for (const Entry& entry : entries) {
    absl::StatusOr<SqliteStatement> statement = connection_.Prepare(entry.sql);
    if (!statement.ok()) return statement.status();
    entry.statement = std::move(*statement);
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> SqliteScoreReader::StreamId(const StreamKey& key) {
  find_stream_.BindText(1, key.tenant)
      .BindText(2, key.stream)
      .Bind(3, static_cast<int64_t>(key.mode));
  const StatementReset reset(find_stream_);
  const absl::StatusOr<bool> row = find_stream_.Step();
  if (!row.ok()) return row.status();
  if (*row) return find_stream_.Int64(0);
  return absl::NotFoundError(absl::StrFormat(
      "nothing is stored of %s stream '%s'",
      key.mode == StreamMode::kLive ? "live" : "playback", key.stream));
}

absl::StatusOr<std::shared_ptr<const ModelLabel>> SqliteScoreReader::Model(
    int64_t model_id) {
  if (const auto found = models_.find(model_id); found != models_.end()) {
    return found->second;
  }
  find_model_.Bind(1, model_id);
  const StatementReset reset(find_model_);
  const absl::StatusOr<bool> row = find_model_.Step();
  if (!row.ok()) return row.status();
  if (!*row) {
    return DamagedRows(connection_.get(),
                       absl::StrFormat("model %d is missing", model_id));
  }
  absl::StatusOr<data::ChannelSet> channels =
      DecodeChannels(find_model_.Blob(2));
  if (!channels.ok()) {
    return DamagedRows(
        connection_.get(),
        absl::StrFormat("the channels of model %d are damaged", model_id));
  }
  auto label = std::make_shared<ModelLabel>();
  label->name = find_model_.Text(0);
  label->version = find_model_.Text(1);
  label->channels = std::move(*channels);
  if (models_.size() >= kMaxModels) models_.clear();
  models_[model_id] = label;
  return label;
}

absl::StatusOr<SqliteScoreReader::WindowPlace>
SqliteScoreReader::FindLastWindow(const TailQuery& query, int64_t stream_id) {
  SqliteStatement& statement = query.until_time_ns ? window_of_instant_
                               : query.epoch       ? last_window_of_epoch_
                                                   : last_window_;
  statement.Bind(1, stream_id);
  if (query.until_time_ns) {
    statement.Bind(2, *query.until_time_ns);
    if (query.epoch) statement.Bind(3, *query.epoch);
    statement.Bind(4, static_cast<int64_t>(model::InstantState::kLate));
  } else if (query.epoch) {
    statement.Bind(2, *query.epoch);
  }
  const StatementReset reset(statement);
  const absl::StatusOr<bool> row = statement.Step();
  if (!row.ok()) return row.status();
  if (*row) return WindowPlace{statement.Int64(0), statement.Int64(1)};
  if (query.until_time_ns) {
    return absl::NotFoundError(
        absl::StrFormat("stream '%s' has no stored instant at time_ns %d",
                        query.key.stream, *query.until_time_ns));
  }
  return absl::NotFoundError(absl::StrFormat(
      "stream '%s' has no stored window in that epoch", query.key.stream));
}

absl::StatusOr<StreamTail> SqliteScoreReader::FindTail(const TailQuery& query) {
  const absl::StatusOr<int64_t> stream_id = StreamId(query.key);
  if (!stream_id.ok()) return stream_id.status();
  const absl::StatusOr<WindowPlace> last = FindLastWindow(query, *stream_id);
  if (!last.ok()) return last.status();

  StreamTail tail;
  tail.epoch = last->epoch;
  tail.last_sequence = last->sequence;
  windows_backwards_.Bind(1, *stream_id)
      .Bind(2, last->epoch)
      .Bind(3, last->sequence);
  const StatementReset reset(windows_backwards_);
  int64_t covered = 0;
  while (tail.windows.empty() || covered < query.instants) {
    const absl::StatusOr<bool> row = windows_backwards_.Step();
    if (!row.ok()) return row.status();
    if (!*row) break;
    absl::StatusOr<WindowRecord> window =
        ReadWindow(windows_backwards_, query.key);
    if (!window.ok()) return window.status();
    covered += window->added_instants;
    tail.windows.push_back(std::move(*window));
  }
  if (tail.windows.empty()) {
    return DamagedRows(
        connection_.get(),
        absl::StrFormat("window %d of stream '%s', epoch %d, is missing",
                        last->sequence, query.key.stream, last->epoch));
  }
  const WindowRecord& newest = tail.windows.front();
  tail.instant_count = newest.first_instant + newest.added_instants;
  std::reverse(tail.windows.begin(), tail.windows.end());
  return tail;
}

absl::StatusOr<WindowRecord> SqliteScoreReader::ReadWindow(
    const SqliteStatement& row, const StreamKey& key) {
  WindowRecord record;
  record.key = key;
  record.epoch = row.Int64(0);
  record.sequence = row.Int64(1);
  const auto damaged = [&] {
    return DamagedRows(
        connection_.get(),
        absl::StrFormat("window %d of stream '%s', epoch %d, is damaged",
                        record.sequence, key.stream, record.epoch));
  };
  const std::string_view hash = row.Blob(2);
  if (hash.size() != record.payload_hash.size()) return damaged();
  std::memcpy(record.payload_hash.data(), hash.data(), hash.size());
  absl::StatusOr<std::shared_ptr<const ModelLabel>> model = Model(row.Int64(3));
  if (!model.ok()) return model.status();
  record.model = std::move(*model);
  record.threshold = static_cast<float>(row.Double(4));
  record.stored_ns = row.Int64(5);
  record.first_instant = row.Int64(6);
  record.added_instants = static_cast<int32_t>(row.Int64(7));

  absl::StatusOr<std::vector<int64_t>> time_ns = Int64sFrom(row.Blob(8));
  absl::StatusOr<std::vector<float>> samples = FloatsFrom(row.Blob(9));
  absl::StatusOr<std::vector<int64_t>> reception = Int64sFrom(row.Blob(10));
  if (!time_ns.ok() || !samples.ok() || !reception.ok()) return damaged();
  record.time_ns = std::move(*time_ns);
  record.samples = std::move(*samples);
  record.reception_time_ns = std::move(*reception);
  if (row.Int64(11) != int64_t{WindowCrc(record)}) return damaged();
  return record;
}

absl::StatusOr<WindowRecord> SqliteScoreReader::FindWindow(const StreamKey& key,
                                                           int64_t epoch,
                                                           int64_t sequence) {
  const absl::StatusOr<int64_t> stream_id = StreamId(key);
  if (!stream_id.ok()) return stream_id.status();
  windows_backwards_.Bind(1, *stream_id).Bind(2, epoch).Bind(3, sequence);
  const StatementReset reset(windows_backwards_);
  const absl::StatusOr<bool> row = windows_backwards_.Step();
  if (!row.ok()) return row.status();
  if (!*row || windows_backwards_.Int64(1) != sequence) {
    return absl::NotFoundError(
        absl::StrFormat("window %d of stream '%s', epoch %d, is not stored",
                        sequence, key.stream, epoch));
  }
  absl::StatusOr<WindowRecord> record = ReadWindow(windows_backwards_, key);
  if (!record.ok()) return record;
  if (absl::Status status = ReadInstants(*stream_id, *record); !status.ok()) {
    return status;
  }
  return record;
}

absl::Status SqliteScoreReader::ReadInstants(int64_t stream_id,
                                             WindowRecord& record) {
  instants_of_window_.Bind(1, stream_id)
      .Bind(2, record.time_ns.front())
      .Bind(3, record.time_ns.back())
      .Bind(4, record.epoch)
      .Bind(5, record.sequence);
  const StatementReset reset(instants_of_window_);
  while (true) {
    const absl::StatusOr<bool> row = instants_of_window_.Step();
    if (!row.ok()) return row.status();
    if (!*row) return absl::OkStatus();
    absl::StatusOr<StoredScore> score =
        ReadScore(instants_of_window_, record.key);
    if (!score.ok()) return score.status();
    record.instants.push_back(std::move(score->instant));
  }
}

absl::StatusOr<StoredScore> SqliteScoreReader::ReadScore(
    const SqliteStatement& row, const StreamKey& key) {
  StoredScore stored;
  model::InstantScore& instant = stored.instant;
  instant.time_ns = row.Int64(0);
  stored.epoch = row.Int64(1);
  stored.sequence = row.Int64(2);
  instant.state = static_cast<model::InstantState>(row.Int64(3));
  instant.score = static_cast<float>(row.Double(4));
  instant.probability = static_cast<float>(row.Double(5));
  instant.anomaly = row.Int64(6) != 0;
  instant.severity = static_cast<model::Severity>(row.Int64(7));
  instant.missing = static_cast<int>(row.Int64(8));
  const std::string_view evidence = row.Blob(9);
  const uint32_t crc =
      InstantCrc(key, stored.epoch, stored.sequence, instant, evidence);
  if (row.Int64(10) != int64_t{crc} ||
      !DecodeEvidence(evidence, instant).ok()) {
    return DamagedRows(
        connection_.get(),
        absl::StrFormat("the score of stream '%s' at time_ns %d (epoch %d, "
                        "sequence %d) is damaged",
                        key.stream, instant.time_ns, stored.epoch,
                        stored.sequence));
  }
  return stored;
}

absl::StatusOr<ScorePage> SqliteScoreReader::FindScores(
    const ScoreQuery& query) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const absl::StatusOr<int64_t> stream_id = StreamId(query.key);
  if (!stream_id.ok()) return stream_id.status();
  if (query.end_time_ns == kMin) return ScorePage{};

  ScoreCursor after{.time_ns = query.start_time_ns.value_or(kMin),
                    .epoch = kMin,
                    .sequence = kMin};
  if (query.after && query.after->time_ns >= after.time_ns) {
    after = *query.after;
  }
  SqliteStatement& rows = query.anomalies_only ? anomalies_ : scores_;
  rows.Bind(1, *stream_id)
      .Bind(2, after.time_ns)
      .Bind(3, query.end_time_ns ? *query.end_time_ns - 1 : kMax)
      .Bind(4, after.epoch)
      .Bind(5, after.sequence);
  const StatementReset reset(rows);
  return ReadPage(rows, query);
}

absl::StatusOr<ScorePage> SqliteScoreReader::ReadPage(SqliteStatement& rows,
                                                      const ScoreQuery& query) {
  ScorePage page;
  std::optional<ScoreCursor> at;
  for (int looked_at = 0;; ++looked_at) {
    const absl::StatusOr<bool> row = rows.Step();
    if (!row.ok()) return row.status();
    if (!*row) return page;
    if (static_cast<int>(page.scores.size()) == query.limit ||
        looked_at == kMaxRowsPerPage) {
      page.next = at;
      return page;
    }
    at = ScoreCursor{rows.Int64(0), rows.Int64(1), rows.Int64(2)};
    const bool scored =
        rows.Int64(3) == static_cast<int64_t>(model::InstantState::kScored);
    if (query.epoch && *query.epoch != at->epoch) continue;
    if (query.min_score &&
        (!scored || static_cast<float>(rows.Double(4)) < *query.min_score)) {
      continue;
    }
    absl::StatusOr<StoredScore> score = ReadScore(rows, query.key);
    if (!score.ok()) return score.status();
    score->threshold = static_cast<float>(rows.Double(11));
    absl::StatusOr<std::shared_ptr<const ModelLabel>> model =
        Model(rows.Int64(12));
    if (!model.ok()) return model.status();
    score->model = std::move(*model);
    page.scores.push_back(std::move(*score));
  }
}

}  // namespace telltale::server
